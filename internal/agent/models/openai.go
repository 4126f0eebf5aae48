package models

import (
	"context"
	"encoding/json"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"tape/hooks"
	"tape/repo/view"
)

// openAIRequest is the body of a chat completion. The SDK's own type would encode the messages
// again, and lose fields that the SDK does not know.
type openAIRequest struct {
	Model     string            `json:"model"`
	Messages  []json.RawMessage `json:"messages"`
	Tools     []openAITool      `json:"tools,omitempty"`
	MaxTokens int               `json:"max_completion_tokens,omitempty"`
	Stream    bool              `json:"stream"`
	Options   struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type openAITool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

func (p *provider) askOpenAI(ctx context.Context, model string, r Request, a *answer) error {
	body := openAIRequest{Model: model, Messages: r.Messages, MaxTokens: r.MaxTokens, Stream: true}
	body.Options.Usage = true
	if r.System != "" {
		system, err := json.Marshal(map[string]string{"role": "system", "content": r.System})
		if err != nil {
			return err
		}
		body.Messages = append([]json.RawMessage{system}, r.Messages...)
	}
	for _, t := range r.Tools {
		tool := openAITool{Type: "function"}
		tool.Function.Name, tool.Function.Description, tool.Function.Parameters = view.ToolName(t.Name), t.Description, schema(t)
		body.Tools = append(body.Tools, tool)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ctx, silence := withSilenceLimit(ctx, p.silence)
	defer silence.stop()
	// Unlike the client, the service does not read the environment; settings has done that.
	service := openai.NewChatCompletionService(option.WithBaseURL(p.baseURL), option.WithHTTPClient(silence.client()))
	options := []option.RequestOption{option.WithRequestBody("application/json", raw), option.WithMaxRetries(retries)}
	if p.key != "" {
		options = append(options, option.WithAPIKey(p.key))
	}
	stream := service.NewStreaming(ctx, openai.ChatCompletionNewParams{}, options...)
	defer stream.Close()
	for stream.Next() {
		chunk := stream.Current()
		if chunk.Usage.TotalTokens > 0 {
			a.usage = map[string]any{"input_tokens": chunk.Usage.PromptTokens, "output_tokens": chunk.Usage.CompletionTokens,
				"cached_tokens": chunk.Usage.PromptTokensDetails.CachedTokens}
		}
		if len(chunk.Choices) == 0 {
			continue
		}
		if err := a.delta(chunk.Choices[0].Delta); err != nil {
			return err
		}
	}
	return silence.cause(ctx, stream.Err())
}

// delta adds a piece of the answer. Providers send reasoning in one of two fields that OpenAI's
// own API does not have.
func (a *answer) delta(d openai.ChatCompletionChunkChoiceDelta) error {
	for _, field := range []string{"reasoning_content", "reasoning"} {
		var text string
		if f, ok := d.JSON.ExtraFields[field]; ok && json.Unmarshal([]byte(f.Raw()), &text) == nil && text != "" {
			if err := a.addDelta(hooks.EventReasoning, text); err != nil {
				return err
			}
			break
		}
	}
	if err := a.addDelta(hooks.EventText, d.Content+d.Refusal); err != nil {
		return err
	}
	for _, c := range d.ToolCalls {
		t, err := a.toolCall(int(c.Index))
		if err != nil {
			return err
		}
		if c.ID != "" {
			t.id = c.ID
		}
		t.name += c.Function.Name
		if err := t.addArguments(c.Function.Arguments); err != nil {
			return err
		}
	}
	return nil
}
