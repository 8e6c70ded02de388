package startercmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/jobwait/jobwait/signing"
	"github.com/jobwait/jobwait/wire"
)

func (a *app) keysCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "keys",
		Short: "make keys that sign decisions, and show their public half",
		Long: `Keys are for workers that take signed decisions only (worker --decision-keys). Whoever decides keeps a private key in a file
and gives it to the deciding commands as --sign-with FILE; the worker's file holds the public halves.`,
		Args: func(_ *cobra.Command, args []string) error {
			const there = "new, public"
			if len(args) > 0 {
				return usagef("there is no command %q; there are %s", args[0], there)
			}
			return usagef("a command is missing: %s", there)
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	command.AddCommand(a.keysNewCommand(), a.keysPublicCommand())
	return command
}

func (a *app) keysNewCommand() *cobra.Command {
	var id, by string
	command := &cobra.Command{
		Use:   "new FILE",
		Short: "make a key: the private half into FILE, the public one to stdout",
		Long: `New writes a private key into FILE, which only its owner may read and which must not be there yet, and prints the entry for
the worker's file of decision keys. The key signs for one identity, that of --by; --by '*' makes a key for a service that
signs for whoever it has signed in.`,
		Args: oneFile,
		RunE: func(_ *cobra.Command, args []string) error { return a.newKey(args[0], id, by) },
	}
	command.Flags().StringVar(&id, "id", "", "`name` under which workers know the key: letters, digits, . _ - (required)")
	command.Flags().StringVar(&by, "by", "", "`who` decides with it; '*' for a service that knows who its people are (required)")
	return command
}

func (a *app) keysPublicCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "public FILE",
		Short: "print the public half of the private key in FILE",
		Long:  "Public prints the entry for the worker's file of decision keys.",
		Args:  oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			key, err := signing.ReadFile(args[0])
			if err != nil {
				return err
			}
			return a.printPublic(key.Public())
		},
	}
}

func oneFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%d arguments, one file is wanted", len(args))
	}
	return nil
}

func (a *app) newKey(path, id, by string) error {
	switch {
	case id == "":
		return usagef("--id is missing; give the key a name such as ana-2026")
	case by == "":
		return usagef("--by is missing; say who decides with the key, or '*' for a service that knows who its people are")
	}
	key, err := signing.New(id, by)
	if err != nil {
		return usageError{err}
	}
	if err := key.WriteFile(path); err != nil {
		return err
	}
	a.say("wrote the private key into %s; this is for the worker's file of decision keys:", path)
	return a.printPublic(key.Public())
}

// printPublic prints one entry of a file of decision keys. The first line is that of the file, so that a first key is a
// whole one.
func (a *app) printPublic(key wire.DecisionKey) error {
	_, err := fmt.Fprintf(a.out, "keys:\n  %s:\n    public_key: %q\n    decided_by: %q\n", key.KeyID, key.PublicKey, key.DecidedBy)
	return err
}

// useKey reads the private key of --sign-with. Who decides is then whom the key signs for, unless it signs for anybody.
func (f *decisionFlags) useKey() error {
	if f.keyFile == "" {
		return nil
	}
	key, err := signing.ReadFile(f.keyFile)
	if err != nil {
		return err
	}
	f.key = &key
	switch by := key.DecidedBy(); {
	case by == wire.AnyIdentity || by == f.decision.DecidedBy:
	case f.byGiven():
		return usagef("--by %q: the key of --sign-with signs for %q alone", f.decision.DecidedBy, by)
	default:
		f.decision.DecidedBy = by
	}
	return nil
}

// sign is the last thing that happens to a decision before it is sent.
func (f *decisionFlags) sign() error {
	if f.key == nil {
		return nil
	}
	signed, err := f.key.Sign(f.decision)
	if err == nil {
		f.decision = signed
	}
	return err
}
