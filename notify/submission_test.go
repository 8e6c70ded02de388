package notify_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/notify"
	"github.com/jobwait/jobwait/wire"
)

// What is told of a submission leads to the submission, whatever it is about and whether there is a job or not. All messages
// about it are one thread, which is not that of the job's wait.
func TestSubmissionsLeadToThemselves(t *testing.T) {
	t.Parallel()
	o := listen(t, code(http.StatusOK))
	n := through(t, webhookTo("pager", o.address(), signing('a')))
	keys := map[string]bool{}
	for _, reason := range wire.Reasons() {
		for _, job := range []string{"", "exp_71c"} {
			told := escalated(func(n *wire.Notification) {
				n.Briefing.Escalation.Reason, n.Briefing.ProviderJobID = reason, job
				n.Briefing.Submission = &wire.SubmissionView{Generation: 1, ProviderJobID: job, MaybeSent: job == ""}
			})
			require.NoError(t, n.Notify(t.Context(), told))
			saw := o.saw()
			var event notify.Event
			require.NoError(t, json.Unmarshal([]byte(saw[len(saw)-1].body), &event))
			require.Equal(t, "jobwait-submit/demo-export/acct%2F42/report-1", event.Data.WorkflowID, reason)
			require.Equal(t, "https://inbox.example.com/waits/jobwait-submit%2Fdemo-export%2Facct%252F42%2Freport-1", event.Data.URL)
			require.Contains(t, event.Data.Text, "\nthis wait: "+event.Data.URL+"\n")
			keys[saw[len(saw)-1].header.Get("webhook-id")] = true
		}
	}
	require.Len(t, keys, 1, "the same message about the same submission")
	require.NoError(t, n.Notify(t.Context(), escalated()))
	saw := o.saw()
	require.False(t, keys[saw[len(saw)-1].header.Get("webhook-id")], "the wait for its job is another matter")
}
