//go:build !linux

package bench

import "runtime"

// usageOf reports nothing: CPU time and memory of other processes are read on Linux only.
func usageOf(int) (usage, error) { return usage{}, nil }

func machine() (processor, load string) { return runtime.GOARCH, "" }
