package model

import "encoding/json"

// gemini is a request of Gemini's generateContent or streamGenerateContent.
type gemini struct {
	stream bool

	Tools    []json.RawMessage `json:"tools"`
	Contents []struct {
		Role  string `json:"role"`
		Parts []struct {
			Text         string `json:"text"`
			FunctionCall *struct {
				ID   string          `json:"id"`
				Name string          `json:"name"`
				Args json.RawMessage `json:"args"`
			} `json:"functionCall"`
			FunctionResponse *struct {
				ID       string          `json:"id"`
				Name     string          `json:"name"`
				Response json.RawMessage `json:"response"`
			} `json:"functionResponse"`
		} `json:"parts"`
	} `json:"contents"`
}

func (g *gemini) history() (items []Item, tools int) {
	for _, c := range g.Contents {
		for _, p := range c.Parts {
			switch {
			case p.FunctionCall != nil:
				f := p.FunctionCall
				items = append(items, Item{Kind: Asked, ID: f.ID, Name: f.Name, Text: string(f.Args)})
			case p.FunctionResponse != nil:
				f := p.FunctionResponse
				items = append(items, Item{Kind: Result, ID: f.ID, Name: f.Name, Text: string(f.Response)})
			case c.Role == "model":
				items = append(items, Item{Kind: Answer, Text: p.Text})
			default:
				items = append(items, Item{Kind: User, Text: p.Text})
			}
		}
	}
	return items, len(g.Tools)
}

func (g *gemini) answer(w *writer, ans answer) {
	var parts []m
	if ans.step.Think != "" {
		parts = append(parts, m{"text": ans.step.Think, "thought": true})
	}
	if ans.step.Text != "" && g.stream {
		for _, piece := range pieces(ans.step.Text) {
			parts = append(parts, m{"text": piece})
		}
	} else if ans.step.Text != "" {
		parts = append(parts, m{"text": ans.step.Text})
	}
	for _, c := range ans.calls {
		parts = append(parts, m{"functionCall": m{"id": c.ID, "name": c.Name, "args": json.RawMessage(c.Text)}})
	}
	if !g.stream {
		w.json(g.chunk(ans, parts, true))
		return
	}
	for i, p := range parts {
		w.event("", g.chunk(ans, []m{p}, i == len(parts)-1))
	}
}

func (g *gemini) chunk(ans answer, parts []m, last bool) m {
	candidate := m{"index": 0, "content": m{"role": "model", "parts": parts}}
	if last {
		candidate["finishReason"] = "STOP"
	}
	n := tokens(ans.step)
	return m{"candidates": []m{candidate}, "modelVersion": "gemini-2.5-pro", "responseId": "resp-" + ans.id,
		"usageMetadata": m{"promptTokenCount": n, "candidatesTokenCount": 20, "totalTokenCount": n + 20}}
}
