package statetables

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// The keys of a table by whether a fact of the provider stands there, and where its source is named.
var (
	// factSections say what the provider does, and have no place for a source: the for of a source names them.
	factSections = []string{
		"params", "account_must_be", "request", "console_url", "job_id", "state", "rules", "states", "success_requires", "result",
		"error", "progress", "updated_at", "expires_at", "next_url", "request_id", "hints",
	}
	// citedSections name a source themselves. The for of a second one may name them too.
	citedSections = []string{
		"read_only", "http_codes", "not_found", "rate_limited", "case_insensitive", "unknown_states", "absent_state", "cancel", "schedule",
		"submit", "callback", "retention", "rate_limits",
	}
	// partlyCited are those of the first kind of which a part names a source itself.
	partlyCited = []string{"result"}
	// ownSections are the table's own: names, and examples that are invented.
	ownSections = []string{"provider", "title", "sources", "example_job", "examples"}
)

// Supports returns what was read at a source, as places of the table in their order: what its for names, and what cites it.
func (d *Document) Supports(id string) []string {
	var places []string
	document := reflect.ValueOf(*d)
	for i := range document.NumField() {
		section := document.Type().Field(i).Tag.Get("yaml")
		found := named(d.Sources[id].For, section)
		if slices.Contains(citedSections, section) || slices.Contains(partlyCited, section) {
			found = append(found, citing(document.Field(i), section, id)...)
		}
		slices.Sort(found)
		places = append(places, slices.Compact(found)...)
	}
	return places
}

// named are the places among these that are a section or parts of it.
func named(places []string, section string) []string {
	return slices.DeleteFunc(slices.Clone(places), func(place string) bool { return sectionOf(place) != section })
}

func sectionOf(place string) string {
	section, _, _ := strings.Cut(place, ".")
	return section
}

// citing are the places below a value whose source is the one that is asked for. An element of a list counts as the list.
func citing(value reflect.Value, place, id string) []string {
	var found []string
	switch value.Kind() { //nolint:exhaustive // others hold no source
	case reflect.Pointer:
		if !value.IsNil() && value.Elem().Type().PkgPath() == reflect.TypeFor[Document]().PkgPath() {
			found = citing(value.Elem(), place, id)
		}
	case reflect.Slice:
		for i := range value.Len() {
			found = append(found, citing(value.Index(i), place, id)...)
		}
	case reflect.Map:
		for _, key := range value.MapKeys() {
			found = append(found, citing(value.MapIndex(key), join(place, key.String()), id)...)
		}
	case reflect.Struct:
		found = citingFields(value, place, id)
	}
	return found
}

func citingFields(value reflect.Value, place, id string) []string {
	var found []string
	for i := range value.NumField() {
		key := value.Type().Field(i).Tag.Get("yaml")
		if key == "source" && value.Field(i).String() == id {
			found = append(found, place)
			continue
		}
		found = append(found, citing(value.Field(i), join(place, key), id)...)
	}
	return found
}

// checkSources wants each source to be one, and each section that states a fact to have one.
func (b *builder) checkSources() {
	ids := slices.Sorted(maps.Keys(b.doc.Sources))
	for _, id := range ids {
		b.checkSource(id, b.doc.Sources[id])
		b.checkPlaces(id, b.doc.Sources[id].For)
	}
	if missing := b.unsupported(); len(missing) > 0 && len(ids) > 0 {
		b.fail("sources", "sources: none of %s is for %s; write for: [%s] at the one where that was read, or spread it over those where it was",
			list(ids), strings.Join(missing, ", "), strings.Join(missing, ", "))
	}
}

func (b *builder) checkSource(id string, source SourceDoc) {
	if source.At == "" {
		b.fail("sources."+id, "source %q has no at; write the page or file it is", id)
	}
	if !dayShape.MatchString(source.Read) {
		b.fail("sources."+id, "source %q: read %q is no day; write when it was read, like 2026-01-31", id, source.Read)
	}
	if len(b.doc.Supports(id)) == 0 {
		b.fail("sources."+id, "source %q supports nothing: it has no for, and nothing cites it; write what was read there, like for: [states], or remove it", id)
	}
}

// checkPlaces wants what a source is for to be in the table, and once.
func (b *builder) checkPlaces(id string, places []string) {
	for i, place := range places {
		path, section := fmt.Sprintf("sources.%s.for[%d]", id, i), sectionOf(place)
		known := slices.Contains(factSections, section) || slices.Contains(citedSections, section)
		_, has := b.lines[place]
		switch {
		case !known || strings.Count(place, ".") > 1:
			b.fail(path, "source %q is for %q, where no fact of the provider stands; write some of %s, or a part of one, like states.cancelled",
				id, place, strings.Join(factSections, ", "))
		case !has:
			b.fail(path, "source %q is for %s, which this table does not have; remove it from for", id, place)
		case slices.Contains(places[:i], place):
			b.fail(path, "source %q is for %s twice; keep one", id, place)
		case place != section && slices.Contains(places, section):
			b.fail(path, "source %q is for %s and for %s, which is part of it; keep one", id, section, place)
		}
	}
}

// unsupported are the sections that state a fact, and that no source is for: neither for the whole nor for each part.
func (b *builder) unsupported() []string {
	places := map[string]bool{}
	for _, source := range b.doc.Sources {
		for _, place := range source.For {
			places[place] = true
		}
	}
	var missing []string
	for _, section := range factSections {
		if _, has := b.lines[section]; !has || places[section] {
			continue
		}
		parts := b.partsOf(section)
		left := slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return places[part] })
		if len(left) == len(parts) {
			left = []string{section}
		}
		missing = append(missing, left...)
	}
	return missing
}

// partsOf are the places right below a section that is a mapping.
func (b *builder) partsOf(section string) []string {
	var parts []string
	for place := range b.lines {
		below, ok := strings.CutPrefix(place, section+".")
		if ok && !strings.ContainsAny(below, ".[") {
			parts = append(parts, place)
		}
	}
	slices.Sort(parts)
	return parts
}
