package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// shortestTimer is the minimum of every timer: a timer of zero writes no command, which would break replay (R21).
const shortestTimer = time.Second

// alarm is the only timer of a wait. It is kept while its time is unchanged and cancelled when another time is set, so that
// answered escalations leave no timers behind (R37).
type alarm struct {
	at     time.Time
	timer  workflow.Future
	cancel workflow.CancelFunc
}

// set makes the alarm fire at the given time; the zero time means never.
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

// takeFired clears an alarm that has fired.
func (a *alarm) takeFired() {
	if a.fired() {
		a.clear()
	}
}

// clear also releases the timer's context, which its parent would keep. If the timer has fired, this cancels nothing.
func (a *alarm) clear() {
	if a.timer != nil {
		a.cancel()
	}
	*a = alarm{}
}
