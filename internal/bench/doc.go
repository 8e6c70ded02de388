// Package bench compares a wait with the smallest loop that polls, with the same server and the same settings of workers and HTTP
// clients, in one run. Its command is
//
//	go run ./internal/bench/cmd
//
// Both sides take turns, so that whatever else the machine does affects both; the result is the ratios of medians. Workers and
// server are separate processes, so that the system can tell their CPU time and memory. Everything listens on loopback.
package bench
