package statetables

import (
	"errors"

	"github.com/jobwait/jobwait/wire"
)

// Table is the checked state table of one provider. It is immutable and safe for concurrent use.
type Table struct {
	provider string
	title    string
	digest   string
}

// Provider is the name under which a spec asks for this table.
func (t *Table) Provider() string { return t.provider }

// Title names the provider's service for people.
func (t *Table) Title() string { return t.title }

// Digest identifies the table's text: "sha256:" and the lower-case hex of the hash of the file's bytes.
func (t *Table) Digest() string { return t.digest }

// Advice is what a table says about pacing.
type Advice struct {
	// Schedule fits the provider's typical durations. It stands where the spec says nothing; null fields advise nothing.
	Schedule wire.Schedule
	// FloorSeconds is the least time between two requests that the provider accepts. It wins over the spec. 0: none.
	FloorSeconds int
	// CapSeconds is the longest sleep that the provider's retention allows. It wins over the spec. 0: none.
	CapSeconds int
	// RetentionSeconds is how long a finished job can be read, or its result fetched, at the provider. 0: not documented.
	RetentionSeconds int
}

// Advice is the table's advice on pacing.
func (t *Table) Advice() Advice { return Advice{} }

// CheckSpec says what the table demands of a spec and the spec does not meet: declared params that match their
// patterns, the account, a status URL where the table polls one, states it lists, a credential where it has auth. All
// faults are joined. No error holds a URL.
func (t *Table) CheckSpec(_ wire.Spec) error { return errors.New("statetables: not built yet") }

// Facts are what the controller snapshots of the table for a wait. The spec must have passed CheckSpec.
func (t *Table) Facts(_ wire.Spec) (wire.TableFacts, error) {
	return wire.TableFacts{Digest: t.digest}, nil
}
