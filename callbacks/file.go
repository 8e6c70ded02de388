package callbacks

import (
	"fmt"
	"maps"
	"slices"

	"github.com/jobwait/jobwait/internal/secretfile"
	"github.com/jobwait/jobwait/internal/yamlfile"
)

// Load reads the endpoints and limits from a YAML file and leaves the other options to the caller:
//
//	callbacks:
//	  replicate:                              # posted to /callbacks/replicate
//	    provider: replicate-prediction        # or providers: [openai-batch, openai-response]
//	    account: acme                         # as the specs of the waits write it
//	    secrets: [{file: replicate-secret}]   # or env:; several while one is being changed
//	  transcripts:
//	    provider: assemblyai-transcript
//	    account: acme
//	    header: X-Transcripts-Token           # only where the table leaves it open
//	    secrets: [{env: TRANSCRIPTS_TOKEN}]
//	limits: {per_second: 50, burst: 200, concurrent: 64, max_body_bytes: 1048576}
//
// The file names secrets but contains none. Relative paths are relative to it. Unknown fields are errors.
func Load(path string) (Options, error) {
	var document fileDocument
	if err := yamlfile.Read("callbacks", path, &document); err != nil {
		return Options{}, err
	}
	options := Options{Limits: Limits(document.Limits)}
	for _, name := range slices.Sorted(maps.Keys(document.Callbacks)) {
		endpoint, err := document.Callbacks[name].endpoint(path, name)
		if err != nil {
			return Options{}, fmt.Errorf("callbacks: endpoint %q: %w", name, err)
		}
		options.Endpoints = append(options.Endpoints, endpoint)
	}
	return options, options.Limits.Validate()
}

type fileDocument struct {
	Callbacks map[string]fileEndpoint `yaml:"callbacks"`
	Limits    fileLimits              `yaml:"limits"`
}

type fileLimits struct {
	PerSecond    int `yaml:"per_second"`
	Burst        int `yaml:"burst"`
	Concurrent   int `yaml:"concurrent"`
	MaxBodyBytes int `yaml:"max_body_bytes"`
}

type fileEndpoint struct {
	Provider  string           `yaml:"provider"`
	Providers []string         `yaml:"providers"`
	Account   string           `yaml:"account"`
	Header    string           `yaml:"header"`
	Secrets   []yamlfile.Place `yaml:"secrets"`
}

func (f fileEndpoint) endpoint(path, name string) (Endpoint, error) {
	made := Endpoint{Name: name, Providers: f.Providers, Account: f.Account, Header: f.Header}
	if f.Provider != "" {
		made.Providers = append([]string{f.Provider}, f.Providers...)
	}
	for i, place := range f.Secrets {
		if err := place.Validate(); err != nil {
			return Endpoint{}, fmt.Errorf("secret %d: %w", i+1, err)
		}
		made.Secrets = append(made.Secrets, secretfile.Source(path, place))
	}
	return made, nil
}
