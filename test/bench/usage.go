package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ticksPerSecond is the unit of times in /proc.
const ticksPerSecond = 100

// usage is how much processor time was used so far, in seconds: by this program,
// by the programs it started, and by all others on the machine.
type usage struct{ self, server, muster, others float64 }

// readUsage looks at all processes. A machine without /proc gives zeros.
func readUsage() usage {
	var u usage
	u.self = processorTime("self")
	for _, pid := range children() {
		if strings.Contains(commandLine(pid), "\x00scheduler\x00") {
			u.muster += processorTime(pid)
		} else {
			u.server += processorTime(pid)
		}
	}
	u.others = busy() - u.self - u.server - u.muster
	return u
}

func (u usage) since(before usage) usage {
	return usage{u.self - before.self, u.server - before.server, u.muster - before.muster, max(0, u.others-before.others)}
}

// children are the ids of the processes that this one started and that run.
func children() []string {
	files, _ := filepath.Glob("/proc/self/task/*/children")
	var pids []string
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			pids = append(pids, strings.Fields(string(text))...)
		}
	}
	return pids
}

func commandLine(pid string) string {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
	if err != nil {
		return ""
	}
	return string(text)
}

// processorTime is what a process has used, in seconds; 0 when it is gone.
func processorTime(pid string) float64 {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte(") ")) // a name may hold blanks
	fields := strings.Fields(string(rest))
	const user, system = 11, 12 // counted from the state, the first after the name
	if len(fields) <= system {
		return 0
	}
	return seconds(fields[user]) + seconds(fields[system])
}

// busy is what the whole machine has used, in seconds, without waiting.
func busy() float64 {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	total := 0.0
	for i, field := range strings.Fields(line) {
		const user, nice, system, irq, soft = 1, 2, 3, 6, 7
		switch i {
		case user, nice, system, irq, soft:
			total += seconds(field)
		}
	}
	return total
}

func seconds(ticks string) float64 {
	n, err := strconv.ParseFloat(ticks, 64)
	if err != nil {
		return 0
	}
	return n / ticksPerSecond
}

// memory is what a process holds in memory now and at most so far, in MiB.
func memory(pid int) (now, most float64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		name, rest, _ := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if len(fields) != 2 {
			continue
		}
		kib, err := strconv.ParseFloat(fields[0], 64)
		if err != nil {
			continue
		}
		switch name {
		case "VmRSS":
			now = kib / 1024
		case "VmHWM":
			most = kib / 1024
		}
	}
	return now, most
}
