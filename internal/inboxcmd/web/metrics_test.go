package web_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
	"github.com/jobwait/jobwait/internal/inboxcmd/web"
	"github.com/jobwait/jobwait/wire"
)

// counts remembers what is counted.
type counts struct {
	client.MetricsHandler
	of   *sync.Map
	tags map[string]string
}

func (c counts) WithTags(tags map[string]string) client.MetricsHandler {
	return counts{c.MetricsHandler, c.of, tags}
}

func (c counts) Counter(name string) client.MetricsCounter { return one{c, name} }

type one struct {
	counts
	name string
}

func (o one) Inc(n int64) {
	key := o.name + " " + o.tags["kind"] + " " + o.tags["result"]
	before, _ := o.of.LoadOrStore(key, int64(0))
	o.of.Store(key, before.(int64)+n)
}

func (c counts) all() map[string]int64 {
	all := map[string]int64{}
	c.of.Range(func(key, n any) bool {
		all[key.(string)] = n.(int64)
		return true
	})
	return all
}

// Answers are counted by what became of them, and words that somebody made up are no labels.
func TestAnswersAreCounted(t *testing.T) {
	t.Parallel()
	counted := counts{client.MetricsNopHandler, &sync.Map{}, nil}
	inbox := inboxtest.Open(t, shared, inboxtest.Headers("127.0.0.1"), policy, func(o *web.Options) { o.Metrics = counted })
	id, _ := inboxtest.Asked(t, shared, "counted", odd)
	ana := as(t, inbox, "ana@example.com", "oncall")
	require.Equal(t, http.StatusForbidden, ana.answerTo(id, wire.DecisionClose).status)
	require.Equal(t, http.StatusForbidden, ana.answerTo(id, "made-up").status)
	cyd := as(t, inbox, "cyd@example.com", "")
	require.Equal(t, http.StatusSeeOther, cyd.answerTo(id, wire.DecisionClose).status)
	require.Equal(t, map[string]int64{
		"jobwait_inbox_answers close not_allowed": 1, "jobwait_inbox_answers none not_allowed": 1, "jobwait_inbox_answers close applied": 1,
	}, counted.all())
}
