package host

import (
	"net/http"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"tape/internal/serve/host/api"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// Entries are refused in which a run poses as the server, the system or somebody else.
// A reader of a tape must be able to tell who wrote what.

// checkAuthorship refuses an entry that a run must not write, with a Problem of status 403.
func checkAuthorship(kind string, payload, meta []byte) error {
	if slices.Contains([]string{repo.KindSystem, repo.KindAnchor, "audit", "state", "host"}, family(kind)) {
		return refused("kind", kind, "a run must not write entries of this kind")
	}
	switch kind {
	case repo.KindMessage:
		if role := jsonl.GetString(payload, "role"); role != "assistant" && role != "tool" {
			return refused("payload.role", role, "a run must write as assistant or tool; "+
				"messages by others are part of its input, or appended by the admin")
		}
	case repo.KindEvent:
		if err := checkEventName(jsonl.GetString(payload, "name")); err != nil {
			return err
		}
	}
	for _, key := range []string{"author", "origin", "source", "absent"} {
		if value := jsonl.Get(meta, key); value != nil {
			return refused("meta."+key, string(value), "the server records who wrote an entry: leave this member out")
		}
	}
	return nil
}

// checkEventName refuses names of events that only the server, tape itself or an import writes.
func checkEventName(name string) error {
	if slices.Contains([]string{"run", "host", "audit", "artifact", "state", "fork", "thread", "session", "session_meta",
		"tape", "import", "repair", "delivery"}, family(name)) {
		return refused("name", name, "a run must not write events of this name: use another one")
	}
	return nil
}

// family returns the part of a name before the first dot, as people read it: only letters, digits and
// underscores, in one width and case.
func family(name string) string {
	first, _, _ := strings.Cut(norm.NFKC.String(name), ".")
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' {
			return unicode.ToLower(r)
		}
		return -1
	}, first)
}

// checkStateOwner refuses an anchor's state that names an owner other than "agent".
func checkStateOwner(state []byte) error {
	if owner := jsonl.Get(state, "owner"); owner != nil && string(owner) != `"agent"` {
		return refused("state.owner", string(owner), "the owner of a run's handoff must be \"agent\"")
	}
	return nil
}

// refused returns the error for a member of an entry: its name, its value, and why a run must not write it.
func refused(field, value, why string) error {
	p := api.NewProblem(http.StatusForbidden, "forbidden", "%s is %.60q: %s", field, value, why)
	p.Details["field"] = field
	return p
}
