package secrets

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"tape/internal/testkit"
	"tape/internal/text/jsonl"
)

// masks matches the marks of secrets in any text.
var masks = regexp.MustCompile(`\[redacted:[a-z0-9-]+:[0-9a-f]{16}\]`)

// checkMask fails the test unless the laws of Mask hold for a value, and returns the masked
// one.
func checkMask(t *testing.T, s *Scanner, value []byte) []byte {
	t.Helper()
	before, err := s.Line(value)
	if err != nil {
		t.Fatalf("not JSON: %v: %s", err, value)
	}
	original := bytes.Clone(value)
	out, found := s.Mask(value, nil)
	if !bytes.Equal(value, original) {
		t.Fatalf("the value was changed in place: %s", original)
	}
	if len(before) > len(found) || len(found) == 0 && !bytes.Equal(out, value) {
		t.Fatalf("Line finds %d secrets, Mask %d, in %s: %s", len(before), len(found), value, out)
	}
	after, err := s.Line(out)
	if err != nil || len(after) > 0 {
		t.Fatalf("%s\nbecame %s,\nin which Line finds %+v, %v", value, out, after, err)
	}
	// The text between the marks is that of the value, in order.
	rest := value
	for i, kept := range masks.Split(string(out), -1) {
		at := bytes.Index(rest, []byte(kept))
		if at < 0 || i == 0 && at != 0 {
			t.Fatalf("%q is not in the value, or out of order:\n%s\n%s", kept, value, out)
		}
		rest = rest[at+len(kept):]
	}
	if len(rest) > 0 && !masks.Match(out[max(0, len(out)-90):]) {
		t.Fatalf("the end is missing:\n%s\n%s", value, out)
	}
	return out
}

// value makes random JSON with secrets of all kinds, escaped in all ways, some in JSON
// within a string.
func value(rng *rand.Rand, texts []string, depth int) string {
	switch n := rng.IntN(10); {
	case depth > 0 && n < 3:
		var parts []string
		for i := range rng.IntN(4) {
			key := fmt.Sprintf("k%d", i)
			if rng.IntN(3) == 0 {
				key = []string{"password", "api_key", "token", "Authorization", "key"}[rng.IntN(5)]
			}
			parts = append(parts, fmt.Sprintf("%q : %s", key, value(rng, texts, depth-1)))
		}
		return "{" + strings.Join(parts, " ,") + "}"
	case depth > 0 && n < 5:
		var parts []string
		for range rng.IntN(4) {
			parts = append(parts, value(rng, texts, depth-1))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case depth > 0 && n < 7:
		return quoted(rng, value(rng, texts, depth-1))
	case n == 7:
		return []string{"17", "-1.5e3", "true", "null"}[rng.IntN(4)]
	}
	var b strings.Builder
	for range rng.IntN(4) {
		b.WriteString(texts[rng.IntN(len(texts))])
		b.WriteString([]string{" ", "\n", ",", "", "é😀", `\`, `"`}[rng.IntN(7)])
	}
	return quoted(rng, b.String())
}

// quoted writes a JSON string in one of its spellings.
func quoted(rng *rand.Rand, text string) string {
	plain := jsonl.AppendString(nil, text)
	if rng.IntN(2) == 0 {
		return string(plain)
	}
	var b []byte
	for _, r := range text {
		switch {
		case r == '/' && rng.IntN(2) == 0:
			b = append(b, `\/`...)
		case r < 0x80 && rng.IntN(10) == 0:
			b = fmt.Appendf(b, `\u%04X`, r)
		case r > 0xffff && rng.IntN(2) == 0:
			b = fmt.Appendf(b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			one := jsonl.AppendString(nil, string(r))
			b = append(b, one[1:len(one)-1]...)
		}
	}
	return `"` + string(b) + `"`
}

func texts(rng *rand.Rand) []string {
	var out []string
	for _, c := range ruleCases(rng) {
		out = append(append(out, c.yes...), c.none...)
	}
	for _, r := range table() {
		for _, shape := range r.shapes {
			out = append(out, example(rng, parseShape(alphabets(), shape), false))
		}
	}
	return out
}

// TestMask: the result is JSON, has no secrets, and has no other changes.
func TestMask(t *testing.T) {
	s, rng := New(), testkit.Random(t)
	masked := 0
	for range testkit.Size(20, 3000) {
		all := texts(rng)
		for range 50 {
			v := value(rng, all, 4)
			if out := checkMask(t, s, []byte(v)); string(out) != v {
				masked++
			}
		}
	}
	if masked == 0 {
		t.Error("nothing was ever masked")
	}
}

func TestMaskSkips(t *testing.T) {
	s, rng := New(), testkit.Random(t)
	one, two := "ghp_"+made(rng, alnums, 36), "hf_"+made(rng, alnums, 34)
	raw := fmt.Appendf(nil, `{"a":"%s %s %s"}`, one, two, one)
	found, err := s.Line(raw)
	if err != nil || len(found) != 2 {
		t.Fatalf("found %+v, %v", found, err)
	}
	out, masked := s.Mask(raw, func(f Finding) bool { return f.Fingerprint == found[0].Fingerprint })
	if want := fmt.Sprintf(`{"a":"%s %s %s"}`, one, found[1].Mark(), one); string(out) != want || len(masked) != 1 {
		t.Errorf("masked %+v: %s, want %s", masked, out, want)
	}
	if same, none := s.Mask(raw, func(Finding) bool { return true }); string(same) != string(raw) || none != nil {
		t.Errorf("skip accepts everything, but %+v is masked", none)
	}
}

func FuzzMask(f *testing.F) {
	s, rng := New(), rand.New(rand.NewPCG(7, 7))
	all := texts(rng)
	for range 40 {
		f.Add([]byte(value(rng, all, 4)))
	}
	f.Add([]byte(`{"":{"key":[["\ud800\u0041KIA"]]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s.Text(raw)
		if jsonl.Valid(raw) == nil {
			checkMask(t, s, raw)
		}
	})
}

// TestManyCandidates: text that is made to be slow, or has candidates everywhere, is scanned in
// reasonable time.
func TestManyCandidates(t *testing.T) {
	s := New()
	for _, unit := range []string{"key ", "token=", "eyJ.", "-----BEGIN PRIVATE KEY-----", "https://a:b", "sk-ant-", "password\"", "[redacted:", "Basic QUJD", "secret_", "discord MTAA",
		"curl -u ", "curl -u a:b ", "curl '", "curl \"\n", "curl -u\\", "sshpass -p ", "machine a login b password ", "login password ", `auth":"`, `"auth":"QUJD",`, "f('password','"} {
		s.Text([]byte(strings.Repeat(unit, testkit.Size(128<<10, 2<<20)/len(unit))))
	}
	tokens := strings.Repeat("ghp_"+made(testkit.Random(t), alnums, 36)+" ", testkit.Size(2000, 20_000))
	if found := s.Text([]byte(tokens)); len(found) != 1 {
		t.Errorf("%d findings of one secret, want 1", len(found))
	}
	deep := strings.Repeat("[", 500) + `"x"` + strings.Repeat("]", 500)
	if _, err := s.Line([]byte(deep)); err != nil {
		t.Error(err)
	}
}

// TestMaskLimited: a value with more secrets than the limit is not masked at all.
func TestMaskLimited(t *testing.T) {
	s, rng := New(), testkit.Random(t)
	secret := func() string { return "ghp_" + made(rng, alnums, 36) }
	inner := jsonl.AppendString(nil, fmt.Sprintf(`{"a":"%s"}`, secret()))
	raw := fmt.Appendf(nil, `{"a":"%s\n%s","b":[%s],"c":"%s"}`, secret(), secret(), inner, secret())
	want, _ := s.Mask(raw, nil)
	for most := range 7 {
		out, found := s.MaskLimited(raw, most, Finding.Mark)
		if most >= 4 && (found != 4 || !bytes.Equal(out, want)) || most < 4 && (found <= most || out != nil) {
			t.Errorf("limit %d: %d secrets, %s; the value has 4", most, found, out)
		}
	}
	if out, found := s.MaskLimited([]byte(`"nothing"`), 0, Finding.Mark); found != 0 || string(out) != `"nothing"` {
		t.Errorf("a value without secrets: found %d, became %s", found, out)
	}
	if out, found := s.Mask(raw, nil); len(found) != 4 || !bytes.Equal(out, want) { // with a walker that MaskLimited has used
		t.Errorf("Mask after MaskLimited found %+v, want 4 secrets", found)
	}
}
