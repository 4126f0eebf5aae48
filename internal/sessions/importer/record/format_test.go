package record

import (
	"path/filepath"
	"testing"
)

// TestMayHave: a list may have a member if a message has it, or if the list is cut off within its first message.
func TestMayHave(t *testing.T) {
	for list, want := range map[string]bool{
		`[{"role":"user"}]`:            true,
		`[{"text":"hi"}]`:              false,
		`[{"text":"hi"},{"role":"x"}]`: true,
		`[]`:                           false,
		`[{"text":"cut o`:              true, // no message is complete
		`[{"text":"hi"},{"te`:          false,
	} {
		if got := mayHave([]byte(list), "role"); got != want {
			t.Errorf("%s: may have a role: %v, want %v", list, got, want)
		}
		for _, head := range []string{list, `{"a": 1, "messages" : ` + list} {
			if got := HeadHasMessages([]byte(head), "role"); got != want {
				t.Errorf("%s: has messages with a role: %v, want %v", head, got, want)
			}
		}
	}
	if HeadHasMessages([]byte(`{"a": 1}`), "role") {
		t.Error("an object without messages has messages with a role")
	}
}

// TestFolder: the project's folder, else the one that the variable names, else the one at home.
func TestFolder(t *testing.T) {
	set := func(name string) string { return map[string]string{"AGENT_HOME": "/elsewhere"}[name] }
	unset := func(string) string { return "" }
	for _, c := range []struct {
		where          Where
		variable, want string
	}{
		{Where{Home: "/h", Getenv: unset}, "AGENT_HOME", "/h/.agent"},
		{Where{Home: "/h", Getenv: set}, "AGENT_HOME", "/elsewhere"},
		{Where{Home: "/h", Getenv: set}, "", "/h/.agent"},
		{Where{Home: "/h", Project: "/p", Getenv: set}, "AGENT_HOME", "/p/.agent"},
		{Where{Home: "/h", Project: "/p", Local: true, Getenv: unset}.User(), "AGENT_HOME", "/h/.agent"},
	} {
		if got := c.where.Folder(".agent", c.variable); got != filepath.FromSlash(c.want) {
			t.Errorf("%+v: folder %s, want %s", c.where, got, c.want)
		}
	}
}

// TestMoment: an event that a format does not know, and any event of an unknown format, is Meanwhile.
func TestMoment(t *testing.T) {
	f := &Format{Events: []HookEvent{{Name: "Began", Is: Start}, {Name: "Done", Is: TurnEnd}, {Name: "Gone", Is: End}, {Name: "Asked"}}}
	for event, want := range map[string]Moment{"Began": Start, "Done": TurnEnd, "Gone": End, "Asked": Meanwhile, "Stop": Meanwhile} {
		if got := f.Moment(event); got != want {
			t.Errorf("%s: moment %d, want %d", event, got, want)
		}
	}
	if got := (*Format)(nil).Moment("Began"); got != Meanwhile {
		t.Errorf("without a format: moment %d, want %d", got, Meanwhile)
	}
}
