package statetables

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

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
		asked := targetOf(doc.Examples[0].Job.over(doc.ExampleJob).spec(provider))
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

// BenchmarkClassifyEveryTable4KiB reads an answer of 4 KiB with every table and tells the median over all tables of their
// medians, and the slowest of these. The answers are examples, filled up with what a table does not read.
func BenchmarkClassifyEveryTable4KiB(b *testing.B) {
	cases := filledAnswers(b)
	spent := make([][]time.Duration, len(cases))
	for b.Loop() {
		for i, one := range cases {
			begun := time.Now()
			one.table.Classify(one.asked, one.context, one.response)
			spent[i] = append(spent[i], time.Since(begun))
		}
	}
	medians := make([]time.Duration, len(cases))
	for i := range spent {
		medians[i] = median(spent[i])
	}
	b.ReportMetric(float64(median(medians).Nanoseconds()), "ns/median")
	b.ReportMetric(float64(slices.Max(medians).Nanoseconds()), "ns/slowest")
}

func median(of []time.Duration) time.Duration {
	slices.Sort(of)
	return of[len(of)/2]
}

type filledAnswer struct {
	table *Table
	answered
}

func filledAnswers(b *testing.B) []filledAnswer {
	b.Helper()
	var cases []filledAnswer
	for _, provider := range loadAll(b).Providers() {
		found := table(b, provider)
		answers := answersOf(b, found, documentOf(b, provider))
		if len(answers) == 0 {
			continue
		}
		filled := answers[0]
		filled.response.Body = fill(filled.response.Body, 4096)
		got := found.Classify(filled.asked, filled.context, filled.response)
		require.Equal(b, wire.AnswerRead, got.Answer, provider)
		cases = append(cases, filledAnswer{table: found, answered: filled})
	}
	return cases
}

// fill makes an object so many bytes long.
func fill(body []byte, length int) []byte {
	var members strings.Builder
	for i := 0; members.Len()+len(body) < length-80; i++ {
		fmt.Fprintf(&members, `{"name":"item %03d","value":"what the table does not read"},`, i)
	}
	return first(`"filling":[` + members.String() + `0]`)(body)
}

// BenchmarkMemory tells what all loaded tables keep.
func BenchmarkMemory(b *testing.B) {
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		set, err := Load(Source{FS: Builtin()}, Source{FS: Demo()})
		require.NoError(b, err)
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(set)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB/set")
}
