package statetables

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// answer4KiB is a finished batch of about 4 KiB, filled up with metadata of many keys as providers send it.
func answer4KiB() Response {
	var metadata strings.Builder
	for i := range 90 {
		fmt.Fprintf(&metadata, `,"key_%02d":"value %d of a label","n_%02d":%d`, i, i, i, i*7)
	}
	body := `{"id":"batch_1","object":"batch","status":"completed","created_at":1790000000,"expires_at":1790086400,` +
		`"request_counts":{"total":40,"completed":40,"failed":0},"output_file_id":"file-out","error_file_id":null,` +
		`"errors":null,"metadata":{"first":true` + metadata.String() + `}}`
	return Response{
		Status: 200, Body: []byte(body), ReceivedAt: time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC),
		Header: map[string][]string{
			"Content-Type": {"application/json"}, "Date": {"Thu, 15 Jan 2026 12:00:00 GMT"}, "X-Request-Id": {"req_1"},
			"Retry-After": {"5"}, "Cache-Control": {"no-store"}, "Server": {"x"},
		},
	}
}

func BenchmarkClassify4KiB(b *testing.B) {
	found, response := table(b, "openai-batch"), answer4KiB()
	asked := wire.Target{Provider: "openai-batch", ProviderJobID: "batch_1"}
	got := found.Classify(asked, wire.ReadingContext{}, response)
	require.Equal(b, wire.CategorySuccess, got.Job.Category)
	b.SetBytes(int64(len(response.Body)))
	b.ReportAllocs()
	for b.Loop() {
		found.Classify(asked, wire.ReadingContext{}, response)
	}
}

// BenchmarkClassifyExamples is one reading of the examples of every table, hence of small answers.
func BenchmarkClassifyExamples(b *testing.B) {
	for _, provider := range loadAll(b).Providers() {
		found, doc := table(b, provider), documentOf(b, provider)
		asked := targetOf(doc.ExampleJob.spec(provider))
		response, context, err := doc.Examples[0].Given.answer()
		require.NoError(b, err)
		b.Run(provider, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				found.Classify(asked, context, response)
			}
		})
	}
}

func BenchmarkLoadAll(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(Source{FS: Builtin()}, Source{FS: Demo()}); err != nil {
			b.Fatal(err)
		}
	}
}
