package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// The kernel counts CPU time for user space in hundredths of a second on every architecture that Go runs on.
const clockTick = 10 * time.Millisecond

// usageOf reads what a process has used so far: fields 14, 15 and 24 of proc_pid_stat(5).
func usageOf(pid int) (usage, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return usage{}, fmt.Errorf("bench: process %d: %w", pid, err)
	}
	_, rest, _ := strings.Cut(string(text), ") ") // behind the name, which may hold anything
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

// machine describes the processor and how busy it is.
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
