package host

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"

	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
	"tape/repo"
)

const token = "ghp_Ab3dE9Zk7QmX2Lw5RtY8Uv1Bn4Cs6Df0Gh3J"

// encoded returns a text in UTF-16, with a byte order mark if mark is set.
func encoded(text string, order binary.AppendByteOrder, mark bool) (out []byte) {
	if mark {
		text = "\ufeff" + text
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return out
}

// Content is masked in any encoding, and is otherwise unchanged.
func TestContent(t *testing.T) {
	m := newMasker([]byte("key"))
	mark := m.Text(token)
	if mark == token || !strings.HasPrefix(mark, "[redacted:github-token:k") {
		t.Fatalf("a token is shown as %q, want a keyed mark", mark)
	}
	in := func(s string) (with, without string) {
		return "größer\n" + s + token + "\nend", "größer\n" + s + mark + "\nend"
	}
	with, without := in("use ")
	junk := "\x89PNG\x00\xff\xfe\x00"
	le, be := binary.LittleEndian, binary.BigEndian
	for name, tc := range map[string][2]string{
		"utf-8":                 {with, without},
		"json":                  {`{"a":"` + token + `"}`, `{"a":"` + mark + `"}`},
		"utf-16 le, marked":     {string(encoded(with, le, true)), string(encoded(without, le, true))},
		"utf-16 be, marked":     {string(encoded(with, be, true)), string(encoded(without, be, true))},
		"utf-16 le":             {string(encoded(with, le, false)), string(encoded(without, le, false))},
		"utf-16 be":             {string(encoded(with, be, false)), string(encoded(without, be, false))},
		"binary":                {junk + token + junk, junk + mark + junk},
		"binary with utf-16 le": {junk + string(encoded(token, le, false)) + junk, junk + string(encoded(mark, le, false)) + junk},
		"binary with utf-16 be": {junk + string(encoded(token, be, false)) + "\x01" + junk, junk + string(encoded(mark, be, false)) + "\x01" + junk},
		"latin-1":               {"gr\xf6\xdfer " + token + "\n", "gr\xf6\xdfer " + mark + "\n"},
		"nothing":               {junk, junk},
	} {
		if got := m.Content([]byte(tc[0])); string(got) != tc[1] {
			t.Errorf("%s: the masked content is %q\nwant %q", name, got, tc[1])
		}
	}
}

// Nobody without the key can compute a mark, and marks that were stored without a key are shown with one.
func TestMarksAreKeyed(t *testing.T) {
	a, b := newMasker([]byte("one")), newMasker([]byte("two"))
	if a.Text(token) == b.Text(token) || a.Text(a.Text(token)) != a.Text(token) {
		t.Errorf("with two keys, the marks are %s and %s, want different ones; masking again gives %s, want no change", a.Text(token), b.Text(token), a.Text(a.Text(token)))
	}
	found, _ := a.scanner.Mask([]byte(`"`+token+`"`), nil)
	unkeyed := strings.Trim(string(found), `"`)
	if a.Text(unkeyed) != a.Text(token) {
		t.Errorf("%s is shown as %s, want %s", unkeyed, a.Text(unkeyed), a.Text(token))
	}
	print := strings.Split(strings.Trim(unkeyed, "]"), ":")[2]
	for _, raw := range []string{`{"id":1,"kind":"event","payload":{},"meta":{"secrets":["github-token:` + print + `"]},"date":"d"}`,
		`{"id":1,"kind":"event","payload":{"name":"tape.purged","data":{"fingerprints":["` + print + `"]}},"meta":{},"date":"d"}`} {
		if e := a.Entry(maskedEntry(t, raw), nil); bytes.Contains(e.Raw, []byte(print)) || !bytes.Contains(e.Raw, []byte(secrets.KeyedFingerprint([]byte("one"), print))) {
			t.Errorf("the fingerprint is not shown as the keyed one: %s", e.Raw)
		}
	}
}

func maskedEntry(t *testing.T, raw string) repo.Entry {
	t.Helper()
	e := repo.Entry{ID: 1, Raw: []byte(raw)}
	var line struct {
		Kind, Date    string
		Payload, Meta json.RawMessage
	}
	if err := json.Unmarshal(e.Raw, &line); err != nil {
		t.Fatal(err)
	}
	e.Kind, e.Date, e.Payload, e.Meta = line.Kind, line.Date, line.Payload, line.Meta
	return e
}

// The name of a value in state can make it a secret.
func TestStateIsMasked(t *testing.T) {
	m := newMasker([]byte("key"))
	for _, raw := range []string{`{"id":1,"kind":"state","payload":{"scope":"actor","key":"db_password","value":"Tr0ub4dor&3x"},"meta":{},"date":"d"}`,
		`{"id":1,"kind":"event","payload":{"name":"state.updated","data":{"scope":"actor","key":"db_password","value":{"now":"x","password":"Tr0ub4dor&3x"}}},"meta":{},"date":"d"}`} {
		if e := m.Entry(maskedEntry(t, raw), nil); bytes.Contains(e.Payload, []byte("Tr0ub4dor")) || !json.Valid(e.Raw) {
			t.Errorf("a secret is shown, or the line is not JSON: %s", e.Raw)
		}
	}
}

// If a file has a secret, its id, hash and size would confirm a guess; those of other files stay.
func TestReferences(t *testing.T) {
	m := newMasker([]byte("key"))
	contents := map[string]string{strings.Repeat("a", 64): "clean", strings.Repeat("b", 64): "use " + token, strings.Repeat("c", 64): strings.Repeat("x", maxMasked+1)}
	open := func(hash string) (io.ReadCloser, error) {
		if text, ok := contents[hash]; ok {
			return io.NopCloser(strings.NewReader(text)), nil
		}
		return nil, errors.New("not here")
	}
	for _, hash := range []string{"a", "b", "c", "d"} {
		hash = strings.Repeat(hash, 64)
		ref := layout.Artifact{MIMEType: "text/plain", Name: token, Size: int64(len(contents[hash])), SHA256: hash}.Reference()
		e := m.Entry(maskedEntry(t, fmt.Sprintf(`{"id":1,"kind":"event","payload":{"name":"x","data":{"text":"see %s","artifact":%s}},"meta":{},"date":"d"}`, hash, ref)), open)
		got := repo.References(e)
		clean := hash[0] == 'a'
		if len(got) != 1 || strings.Contains(string(e.Raw), hash) != clean || (got[0].Size == int64(len(contents[hash]))) != clean && hash[0] != 'd' || strings.Contains(string(e.Raw), token) {
			t.Fatalf("the entry with the artifact %.1s is shown as %s; only a clean one (a) keeps its hash and size", hash, e.Raw)
		}
		real, known := m.Real(got[0].ID)
		if known != (hash[0] == 'b' || hash[0] == 'c') || known && real != hash {
			t.Errorf("the id %s stands for %q (known %v), want %s, known for b and c", got[0].ID, real, known, hash)
		}
	}
}

// TestVeryManySecrets: content that would take too long to mask is withheld, and takes little memory.
func TestVeryManySecrets(t *testing.T) {
	m := newMasker([]byte("key"))
	var lines strings.Builder
	for i := 0; lines.Len() < maxMasked-100; i++ {
		fmt.Fprintf(&lines, "%s%08d\n", token[:32], i*7919%100_000_000)
	}
	many := lines.String()
	some := many[:(maxSecrets+10)*41]
	for name, content := range map[string]string{"utf-8": many, "utf-16": string(encoded(some, binary.LittleEndian, true)),
		"binary": strings.ReplaceAll(some, "\n", "\x00\xff")} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := string(m.File(name, []byte(content)))
		runtime.ReadMemStats(&after)
		if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 500 {
			t.Errorf("%s: masking allocates %d MiB, want at most 500", name, took)
		}
		if !strings.HasPrefix(got, "[withheld:k") || !strings.HasSuffix(got, fmt.Sprintf(": more than %d secrets]", maxSecrets)) {
			t.Errorf("%s: shown as %.100s, want a mark that it is withheld", name, got)
		}
		if again := string(m.File(name+"2", []byte(content))); again == got {
			t.Errorf("%s: two files have the same mark, and so the same id", name)
		}
	}
	text := jsonl.AppendString(nil, some)
	mark := m.Text(some)
	for _, payload := range []string{`{"role":"assistant","content":` + string(text) + `}`, `{"name":"x","data":{"key":"password","value":` + string(text) + `}}`} {
		e := m.Entry(maskedEntry(t, `{"id":1,"kind":"message","payload":`+payload+`,"meta":{"thread_id":"one","x":"`+token+`"},"date":"d"}`), nil)
		if !json.Valid(e.Raw) || bytes.Contains(e.Raw, []byte("ghp_")) || jsonl.GetString(e.Payload, "content") != mark || jsonl.GetString(e.Meta, "thread_id") != "one" || bytes.Contains(e.Meta, []byte(token)) || e.Kind != "message" {
			t.Errorf("only the payload should be withheld, and meta masked: %.300s", e.Raw)
		}
	}
	if got := m.Named("password", text); string(got) != `"`+mark+`"` {
		t.Errorf("a named value is shown as %.100s, want %s", got, mark)
	}
}
