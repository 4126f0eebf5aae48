package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"tape/repo"
	"tape/repo/view"
)

// randomPhases records phases with calls, noise and system messages. Results come by
// position, by id or as messages, some of them in the next phase. With late, some
// results come after later calls and their results.
func randomPhases(t *testing.T, rnd *rand.Rand, late bool) *recorder {
	r := record(t)
	var open, older []string
	for i := range 60 {
		answer := 0
		if len(open) > 0 {
			answer = 1 + rnd.IntN(len(open))
		}
		switch rnd.IntN(11) {
		case 0:
			r.anchor(fmt.Sprintf("phase-%d", i), `{"n":`+fmt.Sprint(i)+`}`)
		case 1:
			r.say("system", fmt.Sprintf("rule %d", rnd.IntN(3)))
		case 2:
			r.add("event", `{"name":"tick"}`, `{}`)
		case 3, 4:
			if late {
				older, open = append(older, open...), nil
			}
			if len(open) == 0 {
				open = []string{fmt.Sprintf("c%d", i), fmt.Sprintf("d%d", i), fmt.Sprintf("e%d", i)}[:1+rnd.IntN(3)]
				r.call(open...)
			}
		case 5, 6:
			if answer > 0 {
				r.results(`{}`, []string{fmt.Sprintf("answer %d", i), "more", "most"}[:answer]...)
				open = open[answer:]
			}
		case 7:
			if answer > 0 {
				r.results(`{"call_ids":`+asJSON(open[:answer])+`}`, []string{fmt.Sprintf("answer %d", i), "more", "most"}[:answer]...)
				open = open[answer:]
			}
		case 8:
			if len(older) > 0 {
				r.results(`{"call_ids":`+asJSON(older[:1])+`}`, "at last")
				older = older[1:]
			}
		case 9:
			if answer > 0 {
				r.add("message", `{"role":"tool","tool_call_id":"`+open[0]+`","content":"said"}`, `{}`)
				open = open[1:]
			}
		default:
			r.say("user", fmt.Sprintf("message %d", i))
		}
	}
	return r
}

// Messages that are made in stretches are the same as messages that are made at once.
func TestOpenAIStretches(t *testing.T) {
	for seed := range uint64(300) {
		late := seed%2 == 1
		size := 1
		if late {
			size = 1500 // so that no stretch must end with open calls
		}
		r := randomPhases(t, rand.New(rand.NewPCG(seed, 4)), late)
		c, err := view.Messages(r.entries, view.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		m := newMessageWriter(w, size, "", view.Options{})
		for _, e := range r.entries {
			if err := m.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(m.Flush(), w.Flush()); err != nil {
			t.Fatal(err)
		}
		var got, want any
		if err := json.Unmarshal([]byte("["+b.String()+"]"), &got); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if err := json.Unmarshal(c.JSON(), &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d:\n%s\nnot\n%s", seed, b.Bytes(), c.JSON())
		}
	}
}

// A tape without messages is an empty array.
func TestOpenAIEmpty(t *testing.T) {
	if got := write(t, "openai", Source{Entries: all(nil)}); got != "[]\n" {
		t.Errorf("a tape without messages is %q", got)
	}
}

// A line of the training format has the messages of its phase, the state at its
// beginning and the state at its end.
func TestTraining(t *testing.T) {
	r := record(t)
	r.say("user", "build it <now>")
	r.call("c1")
	r.results(`{}`, "done")
	r.add("event", `{"name":"run"}`, `{}`)
	r.add("message", `{"role":"user","content":"hidden"}`, `{"context":false}`)
	r.anchor("empty", `{"summary":"built","n":1.00}`)
	r.anchor("open", `null`)
	r.say("user", "go on")
	r.phases[2].State = nil
	want := []string{
		`{"tape":"main","anchor":"session/start","anchor_seq":1,"entries":{"first_id":1,"last_id":6},"commit":"` + r.phases[1].Commit +
			`","state":{"owner":"human"},"outcome":{"anchor":"empty","anchor_seq":2,"summary":"built","state":{"summary":"built","n":1.00}},"messages":[{"role":"user","content":"build it <now>"},` +
			`{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"tool-c1","arguments":"{\"of\":\"c1\"}"}}]},` +
			`{"role":"tool","content":"done","tool_call_id":"c1"}],"ids":[2,3,4]}`,
		`{"tape":"main","anchor":"empty","anchor_seq":2,"entries":{"first_id":7,"last_id":7},"commit":"` + r.phases[2].Commit +
			`","state":{"summary":"built","n":1.00},"outcome":{"anchor":"open","anchor_seq":3,"summary":null,"state":null},"messages":[],"ids":[]}`,
		`{"tape":"main","anchor":"open","anchor_seq":3,"entries":{"first_id":8,"last_id":9},"commit":null,"state":null,"outcome":null,` +
			`"messages":[{"role":"user","content":"go on"}],"ids":[9]}`,
	}
	src := r.source()
	if got := write(t, "training", src); got != strings.Join(want, "\n")+"\n" {
		t.Errorf("%s\nnot\n%s", got, strings.Join(want, "\n"))
	}
	src.First, src.Last, src.Entries = 2, 2, all(r.entries[6:7])
	if got := write(t, "training", src); got != want[1]+"\n" {
		t.Errorf("%s\nnot\n%s", got, want[1])
	}
}

// The record is written byte for byte.
func TestJSONL(t *testing.T) {
	r := randomPhases(t, rand.New(rand.NewPCG(1, 5)), true)
	var want strings.Builder
	for _, e := range r.entries {
		want.Write(append(e.Raw, '\n'))
	}
	if got := write(t, "jsonl", r.source()); got != want.String() {
		t.Errorf("the record is\n%s\nnot\n%s", got, want.String())
	}
}

var errDisk = errors.New("disk is gone")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errDisk }

// Every format stops at an error of reading or writing, and returns it.
func TestErrors(t *testing.T) {
	r := randomPhases(t, rand.New(rand.NewPCG(1, 6)), true)
	for _, f := range Formats() {
		broken := r.source()
		broken.Entries = func(yield func(repo.Entry, error) bool) {
			for _, e := range r.entries {
				if !yield(e, nil) {
					return
				}
			}
			yield(repo.Entry{}, errDisk)
		}
		if err := f.Write(t.Context(), &bytes.Buffer{}, broken); !errors.Is(err, errDisk) {
			t.Errorf("%s: after an error of reading, the error is %v", f.Name, err)
		}
		endless := r.source()
		endless.Entries = func(yield func(repo.Entry, error) bool) {
			big := repo.Entry{ID: 2, Kind: repo.KindMessage, AnchorSeq: 1, Meta: json.RawMessage(`{}`), Raw: make([]byte, 100_000),
				Payload: json.RawMessage(`{"role":"user","content":"` + strings.Repeat("x", 100_000) + `"}`)}
			for range 1000 {
				if big.AnchorSeq++; !yield(big, nil) {
					return
				}
			}
		}
		if err := f.Write(t.Context(), brokenWriter{}, endless); !errors.Is(err, errDisk) {
			t.Errorf("%s: after an error of writing, the error is %v", f.Name, err)
		}
	}
	if _, ok := Find("pdf"); ok {
		t.Error("the format pdf is found, which does not exist")
	}
}
