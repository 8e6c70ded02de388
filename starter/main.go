// Command starter starts waits, follows them and answers their escalations. See --help.
package main

import "github.com/jobwait/jobwait/internal/startercmd"

func main() { startercmd.Main() }
