// Package bench compares a wait with the smallest loop that polls: the same server, the same settings of workers and HTTP
// clients, side by side in one run. Its command is
//
//	go run ./internal/bench/cmd
//
// Both sides take turns, so that whatever else the machine does hits both; ratios of medians are what it is for. Workers and
// server are processes of their own, whose CPU time and memory the system tells. Everything listens on loopback.
package bench
