// Command worker is the stock worker: it waits for jobs on a task queue. See --help.
package main

import "github.com/jobwait/jobwait/internal/workercmd"

func main() { workercmd.Main() }
