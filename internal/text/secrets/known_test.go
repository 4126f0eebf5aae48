package secrets

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"tape/internal/testkit"
	"tape/internal/text/jsonl"
)

// A secret whose text is known is masked in every spelling, also where no rule sees it, and
// nothing else is changed.
func TestKnownSpellings(t *testing.T) {
	rng := testkit.Random(t)
	for _, secret := range []Secret{
		{"aws-access-key", "0123456789abcdef", "AK" + "IA" + made(rng, upper, 16)},
		{"password", "0123456789abcdee", `p"<&/\` + made(rng, alnums, 5) + "Qé😀\n%"},
	} {
		k := NewKnownFinder([]Secret{secret})
		mark := Finding{Rule: secret.Rule, Fingerprint: secret.Fingerprint}.Mark()
		once := string(jsonl.AppendString(nil, secret.Text))
		once = once[1 : len(once)-1]
		for _, c := range []struct{ text, want string }{
			{secret.Text, mark},
			{"x" + secret.Text + "x" + secret.Text, "x" + mark + "x" + mark},
			{`{"a": "` + once + `"}`, `{"a": "` + mark + `"}`},
			{`{"` + once + `": [1,"` + once + `"]}`, `{"` + mark + `": [1,"` + mark + `"]}`},
			{`cut off: {"a": "` + once, `cut off: {"a": "` + mark},
			{"postgres://" + url.PathEscape(secret.Text) + "@host", "postgres://" + mark + "@host"},
			{"[redacted:" + secret.Text, "[redacted:" + secret.Text}, // the text of a mark is left alone
			{strings.ToLower(secret.Text), strings.ToLower(secret.Text)},
		} {
			for range 20 {
				raw := `{"key ":` + quoted(rng, c.text) + `,` + quoted(rng, c.text) + `: 1.0}`
				out, found := k.Mask([]byte(raw))
				var got, plain []string
				for name, v := range jsonl.Fields(out) {
					if text, ok := jsonl.String(v); ok {
						got = append(got, text)
					} else {
						plain = append(plain, string(v))
						got = append(got, name)
					}
				}
				if len(got) != 2 || got[0] != c.want || got[1] != c.want || len(plain) != 1 || plain[0] != "1.0" {
					t.Fatalf("%q became %q, want %q", c.text, got, c.want)
				}
				if (len(found) == 1) != (c.text != c.want) || len(found) == 1 && found[0].Fingerprint != secret.Fingerprint {
					t.Fatalf("%q: found %+v, want the fingerprint %s if the text is masked, otherwise nothing", c.text, found, secret.Fingerprint)
				}
				if c.text == c.want && string(out) != raw {
					t.Fatalf("%s became %s, want no change", raw, out)
				}
			}
		}
	}
}

// The lines of a private key are found one by one, as a diff has them.
func TestKnownKeyLines(t *testing.T) {
	rng := testkit.Random(t)
	key := pem(rng, "RSA PRIVATE KEY", "\n")
	found := New().Secrets(fmt.Appendf(nil, "%q", key), nil)
	if len(found) != 1 {
		t.Fatalf("found %d secrets in a private key, want 1", len(found))
	}
	diff := jsonl.AppendString(nil, "+"+strings.ReplaceAll(key, "\n", "\n+"))
	out, _ := NewKnownFinder(found).Mask(diff)
	for line := range strings.Lines(key) {
		if line = strings.TrimSpace(line); len(line) >= 32 && !strings.HasPrefix(line, "-----") && bytes.Contains(out, []byte(line)) {
			t.Errorf("the line %s is not masked", line)
		}
	}
}

// TestKnown: Secrets returns the secrets of random JSON with their texts, and a KnownFinder masks
// them so that it finds none again.
func TestKnown(t *testing.T) {
	s, rng := New(), testkit.Random(t)
	for range testkit.Size(3, 300) {
		all := texts(rng)
		for range 20 {
			v := []byte(value(rng, all, 4))
			list := s.Secrets(v, nil)
			if _, found := s.Mask(v, nil); (len(found) == 0) != (len(list) == 0) {
				t.Fatalf("Mask finds %d secrets and Secrets %d, want none in both or some in both", len(found), len(list))
			}
			for _, secret := range list {
				if secret.Text == "" || fingerprint(secret.Rule, []byte(secret.Text)) != secret.Fingerprint {
					t.Fatalf("Secrets returns %s %s with the text %q, which has another fingerprint", secret.Rule, secret.Fingerprint, secret.Text)
				}
			}
			out, found := NewKnownFinder(list).Mask(v)
			if jsonl.Valid(out) != nil || (len(found) == 0) != (len(list) == 0) {
				t.Fatalf("the finder masks %d of %d secrets: %s; want valid JSON", len(found), len(list), out)
			}
			if again, more := NewKnownFinder(list).Mask(out); len(more) > 0 {
				t.Fatalf("a second pass masks %d more: %s", len(more), again)
			}
		}
	}
}

// Many secrets at once are found like a single one.
func TestKnownMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var list []Secret
	for i := range 5000 {
		list = append(list, Secret{"x", fmt.Sprintf("%016x", i), made(rng, alnums, 20)})
	}
	k := NewKnownFinder(list)
	for _, i := range []int{0, 1, 2500, 4999} {
		out, _ := k.Mask([]byte(`"a ` + list[i].Text + `"`))
		if want := fmt.Sprintf(`"a [redacted:x:%016x]"`, i); string(out) != want {
			t.Errorf("masked %s, want %s", out, want)
		}
	}
}

func TestIsNotable(t *testing.T) {
	for text, want := range map[string]bool{
		"content": false, "tool_calls": false, "arguments": false, "permission-mode": false, "abc123": false,
		"hunter22": true, "correct-horse-battery": true, "correct horse": false, "übermütig": true,
	} {
		if got := (Secret{Text: text}).IsNotable(); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
