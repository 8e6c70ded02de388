package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// shortestTimer is the floor of every timer: one of zero writes no command and would break replay (R21).
const shortestTimer = time.Second

// alarm is the one timer of a wait. It is kept while its time holds and cancelled when another time is set, so that
// answered escalations leave no timers behind (R37).
type alarm struct {
	at     time.Time
	timer  workflow.Future
	cancel workflow.CancelFunc
}

// set makes sure that the alarm goes off at the given time; a zero time means never.
func (a *alarm) set(ctx workflow.Context, at time.Time, summary string) {
	if a.timer != nil && a.at.Equal(at) {
		return
	}
	a.clear()
	if at.IsZero() {
		return
	}
	delay := max(at.Sub(workflow.Now(ctx)), shortestTimer)
	ctx, cancel := workflow.WithCancel(ctx)
	a.at, a.cancel = at, cancel
	a.timer = workflow.NewTimerWithOptions(ctx, delay, workflow.TimerOptions{Summary: summary})
}

func (a *alarm) fired() bool { return a.timer != nil && a.timer.IsReady() }

// takeFired forgets an alarm that went off.
func (a *alarm) takeFired() {
	if a.fired() {
		a.clear()
	}
}

// clear lets go of the timer's context as well, which its parent would keep. Of a timer that has fired it cancels nothing.
func (a *alarm) clear() {
	if a.timer != nil {
		a.cancel()
	}
	*a = alarm{}
}
