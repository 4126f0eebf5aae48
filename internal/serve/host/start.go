package host

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"tape/internal/serve/host/api"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
	"tape/repo"
)

// The most that comes with a context, whatever a manifest asks for.
const (
	maxInline      = 100 // items
	maxInlineBytes = 256 << 10
)

// Values of a manifest.
const (
	bootstrapNone    = "none"
	bootstrapCurrent = "current_event"
	bootstrapTail    = "recent_tail"
	bootstrapSummary = "summary_tail"

	selfManaged   = "self_managed"
	hostBootstrap = "host_bootstrap"
	hybrid        = "hybrid"
)

// checkManifest refuses unknown values in a manifest.
func checkManifest(m api.Manifest) error {
	if !slices.Contains([]string{"", bootstrapNone, bootstrapCurrent, bootstrapTail, bootstrapSummary}, m.Bootstrap) {
		return api.Invalid("there is no bootstrap %.40q: none, current_event, recent_tail or summary_tail", m.Bootstrap)
	}
	if !slices.Contains([]string{"", selfManaged, hostBootstrap, hybrid}, m.Ownership) {
		return api.Invalid("there is no ownership %.40q: self_managed, host_bootstrap or hybrid", m.Ownership)
	}
	return nil
}

// policyOf decides how much of the history is inlined. That depends on the owner of the context: an
// agent that manages its own gets at most the current event, whatever the bootstrap says; if the host
// begins the context, the default is a recent tail. A manifest that names no owner but asks for
// history leaves the beginning to the host.
func policyOf(m api.Manifest) api.InlinePolicy {
	p := api.InlinePolicy{Bootstrap: m.Bootstrap, MaxInlineEvents: m.MaxInlineEvents, MaxInlineBytes: m.MaxInlineBytes, Ownership: m.Ownership}
	if m.MaxRound > 0 && p.Bootstrap == "" {
		p.Bootstrap, p.MaxInlineEvents = bootstrapTail, 2*min(m.MaxRound, maxInline)
	}
	history := p.Bootstrap == bootstrapTail || p.Bootstrap == bootstrapSummary
	if p.Ownership == "" {
		p.Ownership = selfManaged
		if history {
			p.Ownership = hostBootstrap
		}
	}
	switch {
	case p.Ownership == selfManaged && history:
		p.Bootstrap = bootstrapCurrent
	case p.Ownership == selfManaged:
		p.Bootstrap = cmp.Or(p.Bootstrap, bootstrapNone)
	default:
		p.Bootstrap = cmp.Or(p.Bootstrap, bootstrapTail)
	}
	if p.MaxInlineEvents <= 0 {
		p.MaxInlineEvents = 20
	}
	if p.MaxInlineBytes <= 0 {
		p.MaxInlineBytes = maxInlineBytes
	}
	p.MaxInlineEvents, p.MaxInlineBytes = min(p.MaxInlineEvents, maxInline), min(p.MaxInlineBytes, maxInlineBytes)
	return p
}

// givenUp returns the scopes that a manifest gives up by saying that the runner does not support them.
func givenUp(m api.Manifest) (without []string) {
	for scope, supports := range map[string]*bool{"history.page": m.SupportsHistoryPull, "history.search": m.SupportsHistorySearch, "artifacts.read": m.SupportsArtifactPull} {
		if supports != nil && !*supports {
			without = append(without, scope)
		}
	}
	return without
}

// wantsSummary reports whether the newest summary comes before the tail.
func wantsSummary(p api.InlinePolicy) bool { return p.Bootstrap == bootstrapSummary }

// inlinedItems returns the items that come with the context, the oldest first. last has the last items of the
// transcript, the newest first; summary is that of the last handoff, or nil; first is the run's first entry.
// The summary takes its part of the limits first, and the last items get the rest.
func inlinedItems(p api.InlinePolicy, summary *api.Item, last []api.Item, first int64) []api.Item {
	out := []api.Item{}
	room, limit := p.MaxInlineBytes, p.MaxInlineEvents
	fits := func(item api.Item) bool {
		data, err := json.Marshal(item)
		if err != nil || len(data) > room || len(out) == limit {
			return false
		}
		room -= len(data)
		return true
	}
	if p.Bootstrap == bootstrapNone {
		return out
	}
	if summary != nil && fits(*summary) {
		limit--
	} else {
		summary = nil
	}
	for _, item := range last {
		if p.Bootstrap == bootstrapCurrent && item.Seq < first || summary != nil && item.Seq <= summary.Seq || !fits(item) {
			break
		}
		out = append(out, item)
	}
	if summary != nil {
		out = append(out, *summary)
	}
	slices.Reverse(out)
	return out
}

// sessionKey joins parts such that different parts give different keys: a slash in a part becomes %2F.
func sessionKey(parts ...string) string {
	escape := strings.NewReplacer("/", "%2F", "%2F", "%252F", "%25", "%2525")
	for i, part := range parts {
		parts[i] = escape.Replace(part)
	}
	return strings.Join(parts, "/")
}

// publicConfig returns the variables that a run may get: without secrets, by their names or values, and
// without names that begin with _. The same holds for members of their values.
func publicConfig(config map[string]json.RawMessage) map[string]json.RawMessage {
	scanner, out := secrets.New(), map[string]json.RawMessage{}
	for name, raw := range config {
		var value any
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		if d.Decode(&value) != nil || isPrivate(scanner, name, value) {
			continue
		}
		if kept, err := json.Marshal(withoutPrivate(scanner, value)); err == nil {
			out[name] = kept
		}
	}
	return out
}

func isPrivate(scanner *secrets.Scanner, name string, value any) bool {
	text, _ := value.(string)
	return strings.HasPrefix(name, "_") || secrets.SensitiveName(name) || scanner.SensitiveValue(text)
}

// withoutPrivate removes private members from a value, at any depth.
func withoutPrivate(scanner *secrets.Scanner, value any) any {
	switch v := value.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(name string, value any) bool { return isPrivate(scanner, name, value) })
		for name := range v {
			v[name] = withoutPrivate(scanner, v[name])
		}
	case []any:
		v = slices.DeleteFunc(v, func(value any) bool { return isPrivate(scanner, "", value) })
		for i := range v {
			v[i] = withoutPrivate(scanner, v[i])
		}
		return v
	}
	return value
}

// startedEvent returns the event run.started.
func startedEvent(runID string, q *api.RunRequest) (repo.Draft, error) {
	data := map[string]any{"run_id": runID, "runner": q.Runner, "binding": q.Binding, "actor": q.Actor.ID, "event": q.Event}
	if q.Subject != (api.Party{}) {
		data["subject"] = q.Subject
	}
	if q.Delivery != nil {
		data["delivery"] = q.Delivery
	}
	raw, err := json.Marshal(data)
	return repo.Event("run.started", raw), err
}

// inputMessage returns the message that the run answers; ok is false if the input is empty. Attachments, and
// contents that are not text, such as pictures, are recorded as they are.
func inputMessage(in api.Input) (d repo.Draft, ok bool, err error) {
	if len(in.Contents) == 0 && len(in.Attachments) == 0 {
		return repo.Message("user", in.Text), in.Text != "", nil
	}
	hasText := false
	for i, list := range [][]json.RawMessage{in.Contents, in.Attachments} {
		for _, part := range list {
			if len(part) == 0 || part[0] != '{' {
				return d, false, api.Invalid("input.%s has something that is not a JSON object: %.60s", []string{"contents", "attachments"}[i], part)
			}
			hasText = hasText || i == 0 && jsonl.GetString(part, "text") != ""
		}
	}
	payload := map[string]any{"role": "user", "content": in.Text}
	if len(in.Contents) > 0 {
		parts := in.Contents
		if in.Text != "" && !hasText { // otherwise the parts repeat the text
			text, err := json.Marshal(map[string]string{"type": "text", "text": in.Text})
			if err != nil {
				return d, false, err
			}
			parts = append([]json.RawMessage{text}, parts...)
		}
		payload["content"] = parts
	}
	if len(in.Attachments) > 0 {
		payload["attachments"] = in.Attachments
	}
	raw, err := json.Marshal(payload)
	return repo.Draft{Kind: repo.KindMessage, Payload: raw}, true, err
}
