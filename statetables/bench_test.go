package statetables

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// batchOf is a finished batch with metadata: the provider allows 16 pairs, of which long ones fill 4 KiB.
func batchOf(pairs, length int) Response {
	var metadata strings.Builder
	for i := range pairs {
		fmt.Fprintf(&metadata, `,"key_%03d":"%s"`, i, strings.Repeat("a value ", length)[:length])
	}
	body := `{"id":"batch_1","object":"batch","status":"completed","created_at":1790000000,"expires_at":1790086400,` +
		`"request_counts":{"total":40,"completed":40,"failed":0},"output_file_id":"file-out","error_file_id":null,` +
		`"errors":null,"metadata":{"first":"pair"` + metadata.String() + `}}`
	return Response{
		Status: 200, Body: []byte(body), ReceivedAt: now,
		Header: map[string][]string{
			"Content-Type": {"application/json"}, "Date": {nowDate}, "X-Request-Id": {"req_1"}, "Retry-After": {"5"},
			"Cache-Control": {"no-store"}, "Server": {"x"},
		},
	}
}

func BenchmarkClassify4KiB(b *testing.B) { benchmarkBatch(b, batchOf(15, 240)) }

// BenchmarkClassify4KiBOfKeys is the dearest shape that 4 KiB can have: hardly anything but names.
func BenchmarkClassify4KiBOfKeys(b *testing.B) { benchmarkBatch(b, batchOf(225, 4)) }

func benchmarkBatch(b *testing.B, response Response) {
	b.Helper()
	found, asked := table(b, "openai-batch"), wire.Target{Provider: "openai-batch", ProviderJobID: "batch_1"}
	got := found.Classify(asked, wire.ReadingContext{}, response)
	require.Equal(b, wire.CategorySuccess, got.Job.Category)
	require.InDelta(b, 4096, len(response.Body), 256)
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
