package cluster

import (
	"io"
	"os"
)

// lastWords are the end of a log, for the error of what wrote it.
func lastWords(log *os.File) string {
	const most = 2048
	file, err := os.Open(log.Name())
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > most {
		_, _ = file.Seek(-most, io.SeekEnd) // from the beginning if not
	}
	text, err := io.ReadAll(io.LimitReader(file, most))
	if err != nil {
		return err.Error()
	}
	return string(text)
}
