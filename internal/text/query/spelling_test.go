package query

import "testing"

// TestSpelling: a text is found even if the query spells it in another way, but other words are not.
func TestSpelling(t *testing.T) {
	for query, texts := range map[string][]string{
		"don't":    {"don’t use it", "Don't", "DON‘T"},
		"don’t":    {"don't use it", "don’t"},
		"foo-bar":  {"a foo‑bar b", "foo‐bar", "FOO–BAR", "foo-bar"},
		`"x" is`:   {"“x” is it"},
		"محمد":     {"مُحَمَّد", "محمد"},
		"مُحَمَّد": {"محمد"},
		"שלום":     {"שָׁלוֹם"},
		"kib":      {"512KiB", "512 KiB", "KiB512"},
		"512kib":   {"512KiB"},
		"ki":       {"512KiB"},
	} {
		for _, text := range texts {
			if _, ok := Parse(query, Options{}).Match([]byte(text)); !ok {
				t.Errorf("%s is not found in %s", query, text)
			}
		}
	}
	for query, text := range map[string]string{"سال": "سأل", "kib": "512MiB", "й": "и"} {
		if _, ok := Parse(query, Options{}).Match([]byte(text)); ok {
			t.Errorf("%s is found in %s", query, text)
		}
	}
}
