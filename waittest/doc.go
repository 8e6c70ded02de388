// Package waittest helps teams to test their waits. It has a scripted provider that answers over real HTTP and logs every request,
// and functions to fetch recorded histories, to keep them as JSON, and to replay them strictly against the present code.
package waittest
