package web

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
)

// assets are the files beside the pages, under addresses that change with their content.
type assets struct {
	files   map[string][]byte
	version string
}

var assetTypes = map[string]string{"style.css": "text/css; charset=utf-8", "live.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"}

func newAssets(from fs.FS) (*assets, error) {
	a := &assets{files: map[string][]byte{}}
	sum := sha256.New()
	for _, name := range []string{"icon.svg", "live.js", "style.css"} {
		content, err := fs.ReadFile(from, "static/"+name)
		if err != nil {
			return nil, err
		}
		a.files[name] = content
		_, _ = sum.Write(content)
	}
	a.version = hex.EncodeToString(sum.Sum(nil)[:8])
	return a, nil
}

func (a *assets) path(name string) string { return "/static/" + a.version + "/" + name }

// ServeHTTP implements http.Handler. The files hold nothing of anybody: they need no sign-in.
func (a *assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, ok := a.files[r.PathValue("name")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", assetTypes[r.PathValue("name")])
	if r.PathValue("version") == a.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	_, _ = w.Write(content)
}
