package activities

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/jobwait/jobwait/internal/yamlfile"
	"github.com/jobwait/jobwait/wire"
)

// CredentialsFile is a CredentialSource that reads a YAML file whenever it is asked:
//
//	credentials:
//	  demo:
//	    version: "1"
//	    env: DEMO_KEY             # or file: /run/secrets/demo
//	    origins: ["http://127.0.0.1:8090"]
//	    providers: [demo-export]  # empty or absent: any
//	    accounts: []              # empty or absent: any
//	    scheme: bearer            # where the table takes several; absent: its first
//	    fetch: []                 # URLs below which results are fetched that no outcome names
//	    approval: per_request     # or per_operation: a person approves its use; absent: none
//
// A relative path is relative to the credentials file. One line ending at the end of a secret's file is not part of the value.
// Unknown fields are errors.
type CredentialsFile string

type credentialsDocument struct {
	Credentials map[string]credentialEntry `yaml:"credentials"`
}

type credentialEntry struct {
	yamlfile.Place `yaml:",inline"`

	Version   string   `yaml:"version"`
	Origins   []string `yaml:"origins"`
	Providers []string `yaml:"providers"`
	Accounts  []string `yaml:"accounts"`
	Fetch     []string `yaml:"fetch"`
	Scheme    string   `yaml:"scheme"`
	Approval  string   `yaml:"approval"`
}

// Credential reads the file and returns the entry of that name.
func (f CredentialsFile) Credential(_ context.Context, name string) (Credential, error) {
	document, err := f.read()
	if err != nil {
		return Credential{}, err
	}
	entry, ok := document.Credentials[name]
	if !ok {
		return Credential{}, fmt.Errorf("credentials: %w %q: the worker's credentials file has no such entry", ErrUnknownCredential, name)
	}
	return f.credential(name, entry)
}

// Validate reads the file and reports the first entry that breaks a rule. It does not read values, which may become available
// later.
func (f CredentialsFile) Validate() error {
	document, err := f.read()
	if err != nil {
		return err
	}
	for name, entry := range document.Credentials {
		if _, err := f.credential(name, entry); err != nil {
			return err
		}
	}
	return nil
}

// read reads the file, and parses it only if its text is another than the last time: parsing costs more than the rest of a
// request together.
func (f CredentialsFile) read() (credentialsDocument, error) {
	text, err := yamlfile.ReadBounded(string(f))
	if err != nil {
		return credentialsDocument{}, fmt.Errorf("credentials: %w", err)
	}
	if last, ok := parsedCredentials.Load(f); ok && bytes.Equal(last.(*parsedFile).text, text) {
		return last.(*parsedFile).document, nil
	}
	var document credentialsDocument
	if err := yamlfile.Parse("credentials", string(f), text, &document); err != nil {
		return credentialsDocument{}, err
	}
	parsedCredentials.Store(f, &parsedFile{text, document})
	return document, nil
}

// parsedCredentials holds the last good text of each credentials file of this process, which names secrets and has none.
var parsedCredentials sync.Map // CredentialsFile to *parsedFile

type parsedFile struct {
	text     []byte
	document credentialsDocument // shared: nothing in it is changed
}

func (f CredentialsFile) credential(name string, entry credentialEntry) (Credential, error) {
	if err := entry.Validate(); err != nil {
		return Credential{}, fmt.Errorf("credentials: %q: %w", name, err)
	}
	credential := Credential{
		Version: entry.Version, Origins: slices.Clone(entry.Origins), Providers: slices.Clone(entry.Providers),
		Accounts: slices.Clone(entry.Accounts), Scheme: entry.Scheme,
		Fetch: slices.Clone(entry.Fetch), Approval: wire.ApprovalRule(entry.Approval),
		Read: func(context.Context) (Secret, error) { return f.secret(name, entry) },
	}
	if err := credential.Validate(); err != nil {
		return Credential{}, fmt.Errorf("credentials: %q: %w", name, err)
	}
	return credential, nil
}

func (f CredentialsFile) secret(name string, entry credentialEntry) (Secret, error) {
	value, err := entry.Read(string(f))
	if err != nil {
		return Secret{}, fmt.Errorf("credentials: %q: %s cannot be read", name, entry.Place)
	}
	secret, err := NewSecret(value)
	if err != nil {
		return Secret{}, fmt.Errorf("credentials: %q: %s: %w", name, entry.Place, err)
	}
	return secret, nil
}
