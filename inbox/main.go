// Command inbox is a web page on which people answer the questions of waits. See --help.
package main

import "github.com/jobwait/jobwait/internal/inboxcmd"

func main() { inboxcmd.Main() }
