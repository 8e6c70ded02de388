package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The stacks are those that Go 1.26 writes, shortened.
const twoStacks = `goroutine 7 gp=0xc000102c40 m=nil [chan receive]:
runtime.gopark(0x0?, 0x0?)
	/usr/local/go/src/runtime/proc.go:461 +0xce fp=0xc000501000 sp=0xc000500fe0 pc=0x47a1ce
go.temporal.io/sdk/internal.(*coroutineState).yield(0xc000236780, {0x17e074d, 0x5})
	/go/pkg/mod/go.temporal.io/sdk/internal/internal_workflow.go:1110 +0x5c fp=0xc000501400 sp=0xc000501000 pc=0xa1b2c3
runtime.goexit({})
	/usr/local/go/src/runtime/asm_amd64.s:1693 +0x1 fp=0xc0005017e8 sp=0xc0005017e0 pc=0x4816e1
created by go.temporal.io/sdk/internal.(*workflowState).start in goroutine 3
	/go/pkg/mod/go.temporal.io/sdk/internal/internal_workflow.go:1 +0x12

goroutine 8 gp=0xc000102e00 m=nil [select]:
go.temporal.io/sdk/internal.(*coroutineState).yield(0xc000236780, {0x17e074d, 0x5})
	/go/pkg/mod/go.temporal.io/sdk/internal/internal_workflow.go:1110 +0x5c fp=0xc000701400 sp=0xc000700000 pc=0xa1b2c3
`

func TestDeepestSleeper(t *testing.T) {
	t.Parallel()
	require.Equal(t, 0x17e8-0xfe0+aboveFirst, deepestSleeper(twoStacks))
	require.Zero(t, deepestSleeper("goroutine 1 [chan receive]:\n"+sleeps))
}
