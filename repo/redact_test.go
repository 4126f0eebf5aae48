package repo

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"tape/internal/store/forks"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/writer"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
	"testing"
)

// testSecret is made of parts, so that no scanner takes this file for a leak.
func testSecret(n string) string { return "ghp_" + strings.Repeat("a7Kq9Zt2Lm", 3) + "Xw4Ry" + n }

func setRedact(t *testing.T, s *Store, way string) {
	t.Helper()
	if err := s.SetSetting("redact", way); err != nil {
		t.Fatal(err)
	}
}

// appendEveryWay writes a text in all the ways that entries come in.
func appendEveryWay(t *testing.T, s *Store, tp *Tape, text string) {
	t.Helper()
	args := jsonl.AppendString(nil, `{"cmd":"echo `+text+`"}`)
	call := Draft{Kind: KindToolCall, Payload: slices.Concat([]byte(`{"calls":[{"id":"c1","type":"function","function":{"name":"sh","arguments":`), args, []byte(`}}]}`))}
	mustAppend(t, tp, Message("user", "one "+text))
	mustAppend(t, tp, Message("user", "two "+text), call)
	stored := []byte(`{"id":1,"kind":"event","payload":{"name":"x","data":["` + text + `"]},"meta":{"note":"` + text + `"},"date":"2026-11-20T09:30:00Z","more":{"key":"` + text + `"}}`)
	d, err := layout.StoredLine(stored)
	if err != nil {
		t.Fatal(err)
	}
	_, err = tp.Update(t.Context(), func(tx *Tx) error {
		if err := tx.AppendLine(t.Context(), []byte(`{"kind":"error","payload":{"kind":"x","message":"`+text+`"},"extra":"`+text+`"}`)); err != nil {
			return err
		}
		if _, err := tx.Append(t.Context(), d); err != nil {
			return err
		}
		f, err := forks.InTx(t.Context(), tx, "helper")
		if err != nil {
			return err
		}
		if err := f.Append(t.Context(), Message("assistant", "in a fork "+text)); err != nil {
			return err
		}
		return f.Merge(t.Context())
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tp.Handoff(t.Context(), Anchor{Name: "next", Summary: "done " + text, State: json.RawMessage(`{"env":"` + text + `"}`)}); err != nil {
		t.Fatal(err)
	}
	f, err := tp.Fork(t.Context(), "try")
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, f, Message("user", "forked "+text))
	if _, err := join.Merge(t.Context(), f.in(), join.Options{Summary: "summed up " + text}); err != nil {
		t.Fatal(err)
	}
	if _, err := writer.CreateTapeFrom(t.Context(), s.in(), "second", Anchor{Name: FirstAnchor, State: json.RawMessage(`{"k":"` + text + `"}`)}); err != nil {
		t.Fatal(err)
	}
}

func TestMaskedTextIsNeverWritten(t *testing.T) {
	s := testStore(t, nil)
	setRedact(t, s, "mask")
	secret := testSecret("1")
	tp := openTape(t, s, "main")
	appendEveryWay(t, s, tp, secret)
	wantNowhere(t, s.Dir(), secret[:20])
	key, err := s.in().MarkKey()
	if err != nil {
		t.Fatal(err)
	}
	unkeyed := secrets.New().Text([]byte(secret))[0].Fingerprint
	print := secrets.Keyed(key, unkeyed)
	wantNowhere(t, s.Dir(), unkeyed) // by which anybody could try what the secret is
	masked := 0
	for _, e := range entriesOf(t, tp, Query{}) {
		if bytes.Contains(e.Raw, []byte("[redacted:github-token:"+print+"]")) {
			masked++
			if list := string(jsonl.Get(e.Meta, "redacted")); list != `["github-token:`+print+`"]` {
				t.Errorf("meta of @%d says %s", e.ID, list)
			}
		}
	}
	if masked != 8 {
		t.Errorf("%d entries are masked, want 8", masked)
	}
	if _, err := tp.Handoff(t.Context(), Anchor{Name: "use-" + secret}); err == nil {
		t.Error("the name of an anchor has a secret, and is stored")
	} else {
		wantIs(t, err, ErrInvalid)
	}
}

func TestMarkedTextStays(t *testing.T) {
	s := testStore(t, nil)
	setRedact(t, s, "mark")
	secret := testSecret("2")
	tp := openTape(t, s, "main")
	appendEveryWay(t, s, tp, secret)
	marked := 0
	for _, e := range entriesOf(t, tp, Query{}) {
		has := bytes.Contains(e.Payload, []byte(secret))
		if has != (jsonl.Get(e.Meta, "secrets") != nil) {
			t.Errorf("@%d: has a secret: %v; meta: %s", e.ID, has, e.Meta)
		}
		if has {
			marked++
		}
	}
	if marked != 8 {
		t.Errorf("%d entries are marked, want 8", marked)
	}
}

// What is allowed, or off, is stored as it was given.
func TestRedactLeavesAlone(t *testing.T) {
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	secret := testSecret("3")
	e := mustAppend(t, tp, Message("user", secret))[0]
	if string(e.Meta) != "{}" || !strings.Contains(string(e.Payload), secret) {
		t.Errorf("off, and stored as %s", e.Raw)
	}
	setRedact(t, s, "mask")
	print := secrets.New().Text([]byte(secret))[0].Fingerprint
	if err := s.in().AllowSecret(print); err != nil {
		t.Fatal(err)
	}
	again := reopen(t, s.Dir())
	if value, err := again.Setting("allow_secret"); err != nil || value != print {
		t.Errorf("allow_secret is %q, %v", value, err)
	}
	e = mustAppend(t, openTape(t, again, "main"), Message("user", secret+" "+testSecret("4")))[0]
	if !strings.Contains(string(e.Payload), secret) || strings.Contains(string(e.Payload), testSecret("4")) {
		t.Errorf("one is allowed: %s", e.Raw)
	}
	if err := again.in().DisallowSecret(print); err != nil {
		t.Fatal(err)
	}
	wantIs(t, again.in().DisallowSecret(print), ErrNotFound)
	wantIs(t, again.in().AllowSecret("not a fingerprint"), ErrInvalid)
	wantIs(t, again.in().AllowSecret(""), ErrInvalid)
	wantIs(t, again.SetSetting("redact", "all"), ErrInvalid)
	if raw := readFile(t, s.PrivatePath(layout.ConfigFile)); bytes.Contains(raw, []byte("allow_secret")) {
		t.Errorf("an empty list is kept: %s", raw)
	}
}

// A list that an entry has already is added to; what is no list stays.
func TestRedactedListGrows(t *testing.T) {
	s := testStore(t, nil)
	setRedact(t, s, "mask")
	tp := openTape(t, s, "main")
	for meta, want := range map[string]string{
		`{"a":1.0,"redacted":["x:1"],"b":"\u00e9"}`: `{"a":1.0,"b":"\u00e9","redacted":["x:1","github-token:`,
		`{"redacted":7}`:  `{"redacted":7}`,
		`{ "a" : "\/" }`:  `{"a":"\/","redacted":["github-token:`,
		`{"redacted":[]}`: `{"redacted":["github-token:`,
	} {
		d := Message("user", testSecret("5"))
		d.Meta = json.RawMessage(meta)
		e := mustAppend(t, tp, d)[0]
		if !strings.HasPrefix(string(e.Meta), want) {
			t.Errorf("meta %s became %s, want %s…", meta, e.Meta, want)
		}
	}
}

// Two that have the workspace open: what the one sets, the other does not take back.
func TestSettingsTwice(t *testing.T) {
	s := testStore(t, nil)
	other := reopen(t, s.Dir())
	mustDo(t, s.SetSetting("commit", "turn"))
	mustDo(t, other.in().AllowSecret("0123456789abcdef"))
	if got, err := reopen(t, s.Dir()).Setting("commit"); err != nil || got != "turn" {
		t.Errorf("commit is %q now, %v", got, err)
	}
}
