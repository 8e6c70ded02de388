package faults

import (
	"context"
	"path/filepath"
)

// nextEdits turn the present code into a future version: what its workers prepare has one more value, which makes delays longer. A
// worker of today that continued such a wait would set other timers, and the history that it left would not replay in the future
// version.
func nextEdits() []Edit {
	return []Edit{
		{"wire/prepared.go", "\tResetRunID string ", "\t// Tomorrow has delays that are longer.\n\tTomorrow bool `json:\"tomorrow,omitempty\"`\n\tResetRunID string "},
		{"activities/prepare.go", "\tif prepared.Approval, err = ", "\tprepared.Tomorrow = true\n\tif prepared.Approval, err = "},
		{"operation/schedule.go", "\treturn half + time.Duration(o.draw(why)*float64(raw-half))", `	delay := half + time.Duration(o.draw(why)*float64(raw-half))
	if o.rec.Prepared.Tomorrow {
		delay += 700 * time.Millisecond
	}
	return delay`},
	}
}

// BuildNext builds this suite with the code of the future version, because its histories must be replayed by it. overlaid is the
// value of Options.Overlay with which the new workers are built from that code, too.
func BuildNext(ctx context.Context, dir string) (suite, overlaid string, err error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return "", "", err
	}
	if overlaid, err = overlay(root, dir, nextEdits()); err != nil {
		return "", "", err
	}
	suite = filepath.Join(dir, "suite-next")
	return suite, overlaid, goBuild(ctx, suite, module+"/internal/faults/cmd", "-overlay", overlaid)
}
