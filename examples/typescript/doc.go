// Package typescript tests the example beside it as its readers run it, with Node.js against a real server and worker.
package typescript
