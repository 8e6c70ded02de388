package operation

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
)

// purpose keeps draws of one poll apart from each other.
type purpose string

const (
	drawBackoff   purpose = "backoff"
	drawSpread    purpose = "spread"
	drawFinalLook purpose = "final_look"
	drawCatchUp   purpose = "catch_up"
	drawManual    purpose = "manual"
)

// draw is the one source of chance: a fraction in [0, 1) that depends only on the operation, its first run, the poll
// number and the purpose, so that a replay or a reset gives the same value and no history event is spent on it (R15).
func (o *Operation) draw(why purpose) float64 {
	var seed [320]byte
	text := append(seed[:0], o.rec.Prepared.Spec.OperationID...)
	text = append(text, 0)
	text = append(text, o.rec.FirstRunID...)
	text = append(text, 0)
	text = strconv.AppendInt(text, int64(o.rec.Counters.StatusRequestsUsed), 10)
	text = append(text, 0)
	text = append(text, why...)
	sum := sha256.Sum256(text)
	return float64(binary.BigEndian.Uint64(sum[:8])>>11) / (1 << 53)
}
