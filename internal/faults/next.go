package faults

import (
	"context"
	"path/filepath"
)

// nextEdits make a version of tomorrow of the code that is here: what a worker prepares has one value more, by which delays are
// longer. A worker of today that took up such a wait would make other timers, and what it had made would not replay tomorrow.
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

// BuildNext builds this suite with the code of tomorrow, which its histories have to be replayed by, and returns what has to be put
// into Options.Overlay to have the new workers built so, too.
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
