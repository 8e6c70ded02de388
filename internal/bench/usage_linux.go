package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// On every architecture that Go supports, the kernel reports CPU time to user space in hundredths of a second.
const clockTick = 10 * time.Millisecond

// usageOf returns what a process has used so far: fields 14, 15 and 24 of proc_pid_stat(5).
func usageOf(pid int) (usage, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return usage{}, fmt.Errorf("bench: process %d: %w", pid, err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // after the name, which may contain anything
	fields := strings.Fields(rest)
	if len(fields) < 22 {
		return usage{}, fmt.Errorf("bench: process %d: its stat has %d fields", pid, len(fields))
	}
	var numbers [3]int64
	for i, field := range []int{11, 12, 21} {
		if numbers[i], err = strconv.ParseInt(fields[field], 10, 64); err != nil {
			return usage{}, fmt.Errorf("bench: process %d: %w", pid, err)
		}
	}
	return usage{
		cpu: time.Duration(numbers[0]+numbers[1]) * clockTick, resident: numbers[2] * int64(os.Getpagesize()),
	}, nil
}

// machine returns the processor's name and the load average over one minute.
func machine() (processor, load string) {
	processor = "unknown"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				processor = strings.TrimSpace(value)
				break
			}
		}
	}
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = strings.Join(strings.Fields(string(text))[:1], "")
	}
	return processor, load
}
