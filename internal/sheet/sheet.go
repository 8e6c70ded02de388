// Package sheet describes a state table in words: for a terminal, and for docs/providers.md.
package sheet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jobwait/jobwait/statetables"
)

// Sheet is what one table says, subject by subject. Texts hold spans of code, which Text and Markdown render each in its
// way.
type Sheet struct {
	Provider, Title string
	Subjects        []Subject
}

// Subject is what a table says of one thing: sentences, then names with what belongs to them.
type Subject struct {
	Name string
	Says []string
	Rows []Row
}

// Row is a name and what belongs to it. Both may hold spans of code.
type Row struct{ Name, Text string }

// Of describes a table.
func Of(file statetables.File) Sheet {
	d := describer{&file.Table}
	sheet := Sheet{Provider: file.Table.Provider, Title: file.Table.Title}
	for _, subject := range []Subject{
		d.polled(), d.auth(), d.account(), d.params(), d.states(), d.rules(), d.codes(), d.notFound(), d.tooOften(), d.success(),
		d.result(), d.alsoRead(), d.hints(), d.cancel(), d.pace(), d.rateLimits(), d.retention(), d.submission(), d.callback(), d.sources(),
	} {
		if len(subject.Says)+len(subject.Rows) > 0 {
			sheet.Subjects = append(sheet.Subjects, subject)
		}
	}
	return sheet
}

// describer puts one document into words.
type describer struct{ *statetables.Document }

func (s *Subject) say(format string, args ...any) {
	s.Says = append(s.Says, fmt.Sprintf(format, args...))
}

// add adds a row, unless its text is empty.
func (s *Subject) add(name, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != "" {
		s.Rows = append(s.Rows, Row{name, text})
	}
}

// addAll adds a row for each value of a map, behind a word of ours.
func (s *Subject) addAll(ours string, values map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		s.add(ours+code(name), "%s", code(values[name]))
	}
}

// fence stands around code until a renderer knows how to show it. No table holds it: YAML allows no control characters.
const fence = "\x1f"

// code marks a text that is meant literally; an empty one stays empty.
func code(text string) string {
	if text == "" {
		return ""
	}
	return fence + text + fence
}

// word marks a raw state, in quotes where it would not be seen where it ends.
func word(state string) string {
	if strings.TrimSpace(state) != state || state == "" || strings.Contains(state, ",") {
		return code(`"` + state + `"`)
	}
	return code(state)
}

func words(states []string) string {
	marked := make([]string, len(states))
	for i, state := range states {
		marked[i] = word(state)
	}
	return strings.Join(marked, ", ")
}

// codes marks each of some texts.
func codes(texts []string) string {
	marked := make([]string, len(texts))
	for i, text := range texts {
		marked[i] = code(text)
	}
	return strings.Join(marked, ", ")
}

// cited adds the name of a fact's source.
func cited(text, source string) string {
	if source == "" {
		return text
	}
	return text + " [" + source + "]"
}

// span is a number of seconds as a person says it.
func span(seconds int) string {
	d := time.Duration(seconds) * time.Second
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}} {
		if d >= unit.of && d%unit.of == 0 {
			return fmt.Sprintf("%d %s", d/unit.of, unit.name)
		}
	}
	return fmt.Sprintf("%d s", seconds)
}

// count is a number of things.
func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
