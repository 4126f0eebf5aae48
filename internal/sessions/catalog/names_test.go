package catalog_test

import (
	"maps"
	"slices"
	"testing"

	"tape/internal/sessions/catalog"
)

// TestShortNames: the short form of a name is no beginning of another name.
func TestShortNames(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"01a2026a-b2c1-7cc3-9bcd-59dfba7e8918":                         "01a2026a-b",
		"01a2026a-c4b5-72f3-ad7b-43c9bd873e14":                         "01a2026a-c",
		"2bd69dfa-f8cb-4af7-af8d-643a0cc3e7be":                         "2bd69dfa",
		"2bd69dfa-f8cb-4af7-af8d-643a0cc3e7be/agent-a231fe64d28147aaf": "2bd69dfa/agent-a2",
		"2bd69dfa-f8cb-4af7-af8d-643a0cc3e7be/agent-ad5f76e8d135ddf5e": "2bd69dfa/agent-ad",
		"main":                   "main",
		"telegram:123":           "telegram:123",
		"阶段的名字很长很长很长一":           "阶段的",
		"session-of-the-morning": "session-",
	}
	if got := catalog.ShortNames(slices.Collect(maps.Keys(want))); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestNearest: names that begin with the word come before names with typos, and a short word has no near names.
func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"main", "implement", "review", "2577a596-e227", "Main-2"}
	for word, want := range map[string][]string{
		"mian": {"main"}, "MAIN": {"main", "Main-2"}, "implemnt": {"implement"}, "2577": {"2577a596-e227"}, "x": nil, "something": nil, "": nil,
	} {
		if got := catalog.Nearest(word, names); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", word, got, want)
		}
	}
}
