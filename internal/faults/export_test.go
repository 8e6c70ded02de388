package faults

// Remaining is what is left of scripts after these requests.
var Remaining = remaining

// Overlay writes the mutated files into a directory.
func (m Mutant) Overlay(root, dir string) (string, error) { return m.overlay(root, dir) }

// SteppedClock writes a standard library whose clock jumps.
var SteppedClock = steppedClock
