package writer_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"tape/internal/store/forks"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/writer"
	storetest "tape/internal/testkit/store"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"
	"tape/repo"
	"testing"
)

func setRedact(t *testing.T, s *repo.Store, mode string) {
	t.Helper()
	storetest.Must(t, s.SetSetting("redact", mode))
}

// appendEveryWay adds a text in all ways in which entries can be added.
func appendEveryWay(t *testing.T, s *repo.Store, tp *repo.Tape, text string) {
	t.Helper()
	args := jsonl.AppendString(nil, `{"cmd":"echo `+text+`"}`)
	call := repo.Draft{Kind: repo.KindToolCall, Payload: slices.Concat([]byte(`{"calls":[{"id":"c1","type":"function","function":{"name":"sh","arguments":`), args, []byte(`}}]}`))}
	storetest.Append(t, tp, repo.Message("user", "one "+text))
	storetest.Append(t, tp, repo.Message("user", "two "+text), call)
	stored := []byte(`{"id":1,"kind":"event","payload":{"name":"x","data":["` + text + `"]},"meta":{"note":"` + text + `"},"date":"2026-11-20T09:30:00Z","more":{"key":"` + text + `"}}`)
	d, err := layout.StoredLine(stored)
	storetest.Must(t, err)
	_, err = tp.Update(t.Context(), func(tx *repo.Tx) error {
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
		if err := f.Append(t.Context(), repo.Message("assistant", "in a fork "+text)); err != nil {
			return err
		}
		return f.Merge(t.Context())
	})
	storetest.Must(t, err)
	if _, err := tp.Handoff(t.Context(), repo.Anchor{Name: "next", Summary: "done " + text, State: json.RawMessage(`{"env":"` + text + `"}`)}); err != nil {
		t.Fatal(err)
	}
	f, err := tp.Fork(t.Context(), "try")
	storetest.Must(t, err)
	storetest.Append(t, f, repo.Message("user", "forked "+text))
	if _, err := join.Merge(t.Context(), storetest.InnerTape(f), join.Options{Summary: "summed up " + text}); err != nil {
		t.Fatal(err)
	}
	if _, err := writer.CreateTapeFrom(t.Context(), storetest.Inner(s), "second", writer.TapeStart{First: repo.Anchor{Name: repo.FirstAnchor, State: json.RawMessage(`{"k":"` + text + `"}`)}}); err != nil {
		t.Fatal(err)
	}
}

func TestMaskedTextIsNeverWritten(t *testing.T) {
	s := storetest.New(t, nil)
	setRedact(t, s, "mask")
	secret := storetest.Secret("1")
	tp := storetest.Tape(t, s, "main")
	appendEveryWay(t, s, tp, secret)
	storetest.WantNowhere(t, s.Dir(), secret[:20])
	key, err := storetest.Inner(s).MarkKey()
	storetest.Must(t, err)
	unkeyed := secrets.New().Text([]byte(secret))[0].Fingerprint
	print := secrets.KeyedFingerprint(key, unkeyed)
	storetest.WantNowhere(t, s.Dir(), unkeyed) // with it, anybody could find out the secret by trying
	masked := 0
	for _, e := range storetest.Entries(t, tp, repo.Query{}) {
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
	if _, err := tp.Handoff(t.Context(), repo.Anchor{Name: "use-" + secret}); err == nil {
		t.Error("an anchor with a secret in its name is stored, want ErrInvalid")
	} else {
		storetest.WantIs(t, err, repo.ErrInvalid)
	}
}

func TestMarkedTextStays(t *testing.T) {
	s := storetest.New(t, nil)
	setRedact(t, s, "mark")
	storetest.WriteFile(t, s.PrivatePath("mark.key"), []byte("damaged")) // only masks need it
	secret := storetest.Secret("2")
	tp := storetest.Tape(t, s, "main")
	appendEveryWay(t, s, tp, secret)
	marked := 0
	for _, e := range storetest.Entries(t, tp, repo.Query{}) {
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

// What is allowed is stored unchanged, and so is everything with redact off.
func TestRedactLeavesAlone(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	secret := storetest.Secret("3")
	e := storetest.Append(t, tp, repo.Message("user", secret))[0]
	if string(e.Meta) != "{}" || !strings.Contains(string(e.Payload), secret) {
		t.Errorf("redact is off, but the entry is stored as %s", e.Raw)
	}
	setRedact(t, s, "mask")
	print := secrets.New().Text([]byte(secret))[0].Fingerprint
	storetest.Must(t, storetest.Inner(s).AllowSecret(print))
	again := storetest.Reopen(t, s.Dir())
	if value, err := again.Setting("allow_secret"); err != nil || value != print {
		t.Errorf("allow_secret is %q (error %v), want %q", value, err, print)
	}
	e = storetest.Append(t, storetest.Tape(t, again, "main"), repo.Message("user", secret+" "+storetest.Secret("4")))[0]
	if !strings.Contains(string(e.Payload), secret) || strings.Contains(string(e.Payload), storetest.Secret("4")) {
		t.Errorf("only the first secret is allowed, but the entry is stored as %s", e.Raw)
	}
	storetest.Must(t, storetest.Inner(again).DisallowSecret(print))
	storetest.WantIs(t, storetest.Inner(again).DisallowSecret(print), repo.ErrNotFound)
	storetest.WantIs(t, storetest.Inner(again).AllowSecret("not a fingerprint"), repo.ErrInvalid)
	storetest.WantIs(t, storetest.Inner(again).AllowSecret(""), repo.ErrInvalid)
	storetest.WantIs(t, again.SetSetting("redact", "all"), repo.ErrInvalid)
	if raw := storetest.ReadFile(t, s.PrivatePath(layout.ConfigFile)); bytes.Contains(raw, []byte("allow_secret")) {
		t.Errorf("the settings keep an empty allow_secret: %s", raw)
	}
}

// An existing list gets more elements; a value that is not a list stays.
func TestRedactedListGrows(t *testing.T) {
	s := storetest.New(t, nil)
	setRedact(t, s, "mask")
	tp := storetest.Tape(t, s, "main")
	for meta, want := range map[string]string{
		`{"a":1.0,"redacted":["x:1"],"b":"\u00e9"}`: `{"a":1.0,"b":"\u00e9","redacted":["x:1","github-token:`,
		`{"redacted":7}`:  `{"redacted":7}`,
		`{ "a" : "\/" }`:  `{"a":"\/","redacted":["github-token:`,
		`{"redacted":[]}`: `{"redacted":["github-token:`,
	} {
		d := repo.Message("user", storetest.Secret("5"))
		d.Meta = json.RawMessage(meta)
		e := storetest.Append(t, tp, d)[0]
		if !strings.HasPrefix(string(e.Meta), want) {
			t.Errorf("meta %s became %s, want %s…", meta, e.Meta, want)
		}
	}
}
