package simulate

import (
	"fmt"
	"time"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// Knowing is a schedule of the core's with the given delays in seconds, which knows how long such jobs take.
func Knowing(base, most int, typical Typical) wire.Schedule {
	schedule := Backoff(base, most)
	schedule.ExpectedP50Seconds = new(max(int(typical.P50.Round(time.Second)/time.Second), 1))
	schedule.ExpectedP90Seconds = new(max(int(typical.P90.Round(time.Second)/time.Second), 1))
	return schedule
}

// Expecting is the core's pace for such a schedule.
func Expecting(schedule wire.Schedule) wire.Pace {
	wait := Wait{Start: epoch, Deadline: epoch.Add(time.Hour), Budget: 1}
	prepared, err := operation.Prepare(specOf(wait, schedule), wait.Start, operation.Knowledge{})
	if err != nil {
		panic(fmt.Sprintf("simulate: %v", err)) // a mistake of the caller, as an index out of range is
	}
	return prepared.Pace
}
