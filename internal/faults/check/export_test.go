package check

import (
	"crypto/sha256"
	"fmt"

	"github.com/jobwait/jobwait/wire"
)

// CanonicalEntry is the text that an entry's hash is taken over.
func CanonicalEntry(e wire.Entry) string {
	text, err := canonicalEntry(e)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// EntryHash is the hash that an entry should have.
func EntryHash(e wire.Entry) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(CanonicalEntry(e))))
}
