package cluster

import (
	_ "embed"
	"fmt"
	"os"
	"strings"
	"text/template"
)

//go:embed server.yaml.tmpl
var serverTemplate string

// ports are those of the four services and of the frontend over HTTP, and where each joins the cluster.
type ports struct {
	Frontend, FrontendHTTP, History, Matching, Worker                     int
	FrontendMember, HistoryMember, MatchingMember, WorkerMember, Database int
}

// all are the ports in a fixed order, to be chosen.
func (p *ports) all() []*int {
	return []*int{
		&p.Frontend, &p.FrontendHTTP, &p.History, &p.Matching, &p.Worker,
		&p.FrontendMember, &p.HistoryMember, &p.MatchingMember, &p.WorkerMember, &p.Database,
	}
}

// config is what the server's configuration depends on.
type config struct {
	ports

	Host, User, Password, Plugin, DynamicConfig string
}

func (c config) write(path string) error {
	var text strings.Builder
	parsed, err := template.New("server").Parse(serverTemplate)
	if err != nil {
		return err
	}
	if err := parsed.Execute(&text, c); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text.String()), 0o600)
}

// dynamicConfig writes settings, each KEY=VALUE with a JSON value, in the server's own form.
func dynamicConfig(settings []string) (string, error) {
	var text strings.Builder
	for _, setting := range settings {
		key, value, ok := strings.Cut(setting, "=")
		if !ok || key == "" || value == "" {
			return "", fmt.Errorf("cluster: dynamic config %q is not KEY=VALUE", setting)
		}
		fmt.Fprintf(&text, "%s:\n  - value: %s\n", key, value)
	}
	return text.String(), nil
}
