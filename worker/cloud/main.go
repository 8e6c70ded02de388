// Command cloud is the stock worker with destinations in S3, Google Cloud Storage and Azure Blob Storage besides the file
// system. It is a module of its own, so that who imports jobwait does not carry three cloud SDKs.
package main

import (
	_ "gocloud.dev/blob/azureblob"
	_ "gocloud.dev/blob/gcsblob"
	_ "gocloud.dev/blob/s3blob"

	"github.com/jobwait/jobwait/internal/workercmd"
)

func main() { workercmd.Main() }
