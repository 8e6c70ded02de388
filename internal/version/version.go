// Package version says which build of jobwait runs.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

const (
	path = "github.com/jobwait/jobwait"
	// unknown is the version of a build from a checkout.
	unknown = "devel"
	// shownCommit is how much of a commit's hash tells it from others.
	shownCommit = 12
)

// Module is the version of this module in the running binary, whichever program that is; "devel" for a checkout.
func Module() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	return moduleIn(info)
}

func moduleIn(info *debug.BuildInfo) string {
	for _, module := range append(info.Deps, &info.Main) {
		if module.Path == path && module.Version != "" && module.Version != "(devel)" {
			return module.Version
		}
	}
	return unknown
}

// Line is one line for people: the version, the commit it was built from where that is known, and Go's version.
func Line() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown + ", " + runtime.Version()
	}
	return lineOf(info)
}

func lineOf(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	commit := ""
	if revision := settings["vcs.revision"]; revision != "" {
		commit = ", commit " + revision[:min(len(revision), shownCommit)]
	}
	if commit != "" && settings["vcs.modified"] == "true" {
		commit += " with changes"
	}
	return fmt.Sprintf("%s%s, %s", moduleIn(info), commit, info.GoVersion)
}
