package listing

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/wire"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

// shelf answers the questions of Urgent about waits that lapse at given times, as visibility does: newest start first, no
// order by, pages of bounded size.
type shelf struct {
	t       *testing.T
	waits   []Row
	asked   int
	longest int
}

// order are the comparisons of a query, as time.Time.Compare counts them from -1 on.
var order = [...]string{"<", "=", ">"}

var bound = regexp.MustCompile(`JobWaitDecideBy (=|<|>) '([^']+)'`)

func (s *shelf) matching(query string) []Row {
	s.asked++
	out := s.waits
	for _, match := range bound.FindAllStringSubmatch(query, -1) {
		limit, err := time.Parse(time.RFC3339Nano, match[2])
		require.NoError(s.t, err)
		var within []Row
		for _, row := range out {
			if order[row.DecideBy.Compare(limit)+1] == match[1] {
				within = append(within, row)
			}
		}
		out = within
	}
	return out
}

func (s *shelf) ListWorkflow(_ context.Context, r *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	found := s.matching(r.GetQuery())
	answer := &workflowservice.ListWorkflowExecutionsResponse{}
	if len(found) > int(r.GetPageSize()) {
		found, answer.NextPageToken = found[:r.GetPageSize()], []byte("more")
	}
	s.longest = max(s.longest, len(found))
	for _, row := range found {
		by, err := plain.ToPayload(row.DecideBy)
		require.NoError(s.t, err)
		answer.Executions = append(answer.Executions, &workflowpb.WorkflowExecutionInfo{
			Execution: &commonpb.WorkflowExecution{WorkflowId: row.WorkflowID, RunId: "run"}, StartTime: timestamppb.New(noon),
			Status:           enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING,
			SearchAttributes: &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{wire.AttributeDecideBy: by}},
		})
	}
	return answer, nil
}

func (s *shelf) CountWorkflow(_ context.Context, r *workflowservice.CountWorkflowExecutionsRequest) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	return &workflowservice.CountWorkflowExecutionsResponse{Count: int64(len(s.matching(r.GetQuery())))}, nil
}

func (s *shelf) lister() Lister {
	return Lister{Visibility: s, Memo: waits.New(nil, nil), places: places{key: []byte("key")}}
}

func rowsAt(times []time.Time) []Row {
	var rows []Row
	for i, at := range times {
		rows = append(rows, Row{WorkflowID: fmt.Sprintf("jobwait/p/a/%05d", i), DecideBy: at})
	}
	return rows
}

func ids(rows []Row) []string {
	var out []string
	for _, row := range rows {
		out = append(out, row.WorkflowID)
	}
	return out
}

// However the times lie, page after page gives each wait once, in the order of urgency.
func TestUrgentListsEachOnceInOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		spread := rapid.SampledFrom([]time.Duration{time.Millisecond, time.Minute, 24 * time.Hour, 30 * 24 * time.Hour}).Draw(rt, "spread")
		offset := rapid.SampledFrom([]time.Duration{-24 * time.Hour, 0, time.Hour, 40 * 24 * time.Hour}).Draw(rt, "offset")
		n := rapid.IntRange(0, 700).Draw(rt, "waits")
		chance := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1)) //nolint:gosec // test data
		var times []time.Time
		for range n {
			times = append(times, noon.Add(offset+time.Duration(chance.Int64N(int64(spread))).Truncate(time.Millisecond/4)))
		}
		s := &shelf{t: t, waits: rowsAt(times)}
		var got []string
		for place := ""; ; {
			page, err := s.lister().Urgent(t.Context(), Filter{}, noon, place, 20)
			require.NoError(rt, err)
			got = append(got, ids(page.Rows)...)
			if place = page.Next; place == "" {
				break
			}
			require.Len(rt, page.Rows, 20)
		}
		require.Equal(rt, ids(Sorted(slices.Clone(s.waits))), got)
	})
}

// Few waits take one question; ten thousand take some, and none of them is read in full.
func TestUrgentAsksLittle(t *testing.T) {
	t.Parallel()
	few := &shelf{t: t, waits: rowsAt([]time.Time{noon.Add(time.Hour), noon, noon.Add(time.Minute)})}
	page, err := few.lister().Urgent(t.Context(), Filter{}, noon, "", 50)
	require.NoError(t, err)
	require.Equal(t, []string{"jobwait/p/a/00001", "jobwait/p/a/00002", "jobwait/p/a/00000"}, ids(page.Rows))
	require.Empty(t, page.Next)
	require.Equal(t, int64(3), page.Whole)
	require.Equal(t, 1, few.asked)

	// every are waits that lapse one after the other.
	every := func(n int, pause time.Duration) *shelf {
		var times []time.Time
		for i := range n {
			times = append(times, noon.Add(time.Duration(n-i)*pause))
		}
		return &shelf{t: t, waits: rowsAt(times)}
	}
	for pause, asked := range map[time.Duration]int{8 * time.Second: 5, 40 * time.Second: 3, 200 * time.Second: 4} {
		some := every(1000, pause)
		page, err = some.lister().Urgent(t.Context(), Filter{}, noon, "", 50)
		require.NoError(t, err)
		require.Equal(t, "jobwait/p/a/00999", page.Rows[0].WorkflowID)
		require.LessOrEqual(t, some.asked, asked, pause)
	}
	many := every(10_000, 8*time.Second)
	page, err = many.lister().Urgent(t.Context(), Filter{}, noon, "", 50)
	require.NoError(t, err)
	require.Len(t, page.Rows, 50)
	require.Equal(t, "jobwait/p/a/09999", page.Rows[0].WorkflowID)
	require.LessOrEqual(t, many.asked, 5)
	require.LessOrEqual(t, many.longest, 50*slack)

	// The same list again begins where the last search ended, and finds what has been added since.
	again := Lister{Visibility: many, Memo: waits.New(nil, nil), spans: newSpans()}
	_, err = again.Urgent(t.Context(), Filter{}, noon, "", 50)
	require.NoError(t, err)
	many.asked = 0
	many.waits = append(many.waits, Row{WorkflowID: "jobwait/p/a/new", DecideBy: noon})
	page, err = again.Urgent(t.Context(), Filter{}, noon, "", 50)
	require.NoError(t, err)
	require.Equal(t, "jobwait/p/a/new", page.Rows[0].WorkflowID)
	require.Equal(t, 1, many.asked)
}

func TestFilterCannotEndItsQuotes(t *testing.T) {
	t.Parallel()
	query := Filter{Prefixes: []string{"jobwait/p/a'b/", "jobwait/p/"}, Reason: "x' OR '1'='1"}.query(closed)
	require.Equal(t, closed+" AND JobWaitReason = '!' AND (WorkflowId STARTS_WITH '!' OR WorkflowId STARTS_WITH '!' OR WorkflowId STARTS_WITH 'jobwait/p/' OR WorkflowId STARTS_WITH 'jobwait-submit/p/')", query)
}

func TestPlacesFromOutside(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"%", "AAAA", strings.Repeat("A", maxPlaceBytes+1), places{key: []byte("other")}.encode([]byte("2026-11-29T12:00:00Z x")), places{key: []byte("key")}.encode([]byte("2026-11-29 x"))} {
		_, err := (&shelf{t: t}).lister().Urgent(t.Context(), Filter{}, noon, place, 5)
		require.ErrorIs(t, err, ErrPlace, place)
	}
	require.ErrorIs(t, explain(serviceerror.NewInvalidArgument("Invalid NextPageToken."), true), ErrPlace)
	require.ErrorIs(t, explain(serviceerror.NewInvalidArgument("column name 'JobWaitDecideBy' is not a valid search attribute"), false), ErrUnregistered)
}

// Only what R45 makes of three parts is a wait's id.
func TestParts(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"jobwait-submit/p/a/report-1", "jobwait/p/a/j"} {
		_, _, _, ok := Parts(id)
		require.True(t, ok, id)
	}
	provider, account, job, ok := Parts("jobwait/p/a%20b/x%2Fy")
	require.True(t, ok)
	require.Equal(t, []string{"p", "a b", "x/y"}, []string{provider, account, job})
	for _, id := range []string{"", "jobwait/p/a", "jobwait/p/a/b/c", "other/p/a/j", "jobwait-fetch/p/a/j", "jobwait-submit/p/a/j/r", "jobwait//a/j", "jobwait/p/a b/j", "jobwait/p/a/%2f", "jobwait/p/a/%zz", "jobwait/p/a/" + strings.Repeat("x", 1000)} {
		_, _, _, ok := Parts(id)
		require.False(t, ok, id)
	}
}
