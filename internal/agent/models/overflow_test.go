package models

import (
	"strings"
	"testing"
)

// What servers say, word for word, when the context is too long. Every line of the tables has an
// example here.
func TestOverflowWords(t *testing.T) {
	said := []string{
		`{"error":{"message":"too much","code":"context_length_exceeded"}}`,
		`{"error":{"code":400,"message":"request (4390 tokens) is too much","type":"exceed_context_size_error","n_prompt_tokens":4390,"n_ctx":4096}}`,
		`{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`,
		`the answer ended with model_context_window_exceeded`,
		`{"error":{"type":"prompt_too_long"}}`,
		`litellm.ContextWindowExceededError: litellm.BadRequestError`,
		`{"code":"token_limit_exceeded","status":400}`,
		"This model's maximum context length is 8192 tokens. However, your messages resulted in 8545 tokens.",
		"This endpoint's maximum context length is 200000 tokens. However, you requested about 250000 tokens (242000 of text input, 8000 in the output).",
		"This model's maximum context length is 262144 tokens. However, you requested 128000 output tokens and your prompt contains at least 134145 input tokens, for a total of at least 262145 tokens.",
		"Requested token count exceeds the model's maximum context length of 32768 tokens.",
		"number of input tokens (204703) has exceeded max_prompt_tokens (202752) limit.",
		"Prompt tokens (40000) exceeds context size (32768)",
		"Your input exceeds the context window of this model. Please adjust your input and try again.",
		"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 402740 tokens.",
		"Please reduce the length of the messages or completion.",
		"Please reduce the length of the input prompt.",
		"ollama: context length exceeded for llama3",
		"Context length exceeded",
		"Context Window exceeded for given call. No models have context window large enough for this call.",
		"the context window is full",
		"over the token limit",
		"prompt is too long: 202609 tokens > 200000 maximum",
		"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again",
		"input and output tokens exceed your context limit",
		"ValidationException: Input is too long for requested model.",
		"Input exceeds the max input token limit",
		"prompt tokens (400007) exceed model maximum (278528) for openai.gpt-5.5",
		"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
		"This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
		"Prompt contains 300000 tokens and 0 draft tokens, too large for model with 131072 maximum context",
		"The input (516368 tokens) is longer than the model's context length (262144 tokens).",
		"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 512 `max_new_tokens`",
		"inputs tokens + max_new_tokens must be <= 8193",
		"The sum of 'inputs' tokens and 'max_new_tokens' must not exceed 4097.",
		"Input length 131393 exceeds the maximum allowed input length of 131040 tokens.",
		"prompt token count of 200000 exceeds the limit of 128000",
		"Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)",
		"tokens in request more than max tokens allowed",
		"invalid params, context window exceeds limit",
		"InternalError.Algo.InvalidParameter: Range of input length should be [1, 202745]",
		"total tokens exceeds the model's max of 4096",
		"the request exceeds the available context size. try increasing the context size or enable context shift",
		"request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
		"Context size has been exceeded.",
		"Requested tokens (2285) exceed context window of 2048",
		"Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input",
		"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096).",
		"prompt too long; exceeded max context length by 4096 tokens",
		"the input length exceeds the context length",
		"Prompt exceeds max length", "Prompt 超长", "Total tokens of image and text exceed max message tokens.", "total message size 10176584 exceeds limit 2097152",
		"Unable to submit request because the input token count is 40000 but model only supports up to 32768.", "该模型最大上下文长度为 32768", "输入长度超过限制",
		"the context length is used up", "this is over the maximum context", "a token limit was reached",
		"The decoder prompt (length 5951) is longer than the maximum model length of 4096.",
		"Input validation error: `inputs` must have less than 4096 tokens. Given: 6000", "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 8000.",
		"The engine prompt length 40000 exceeds the max_model_len 32768. Please reduce prompt.", "输入内容过长，超过模型最大上下文长度", `{"error":{"code":"context_window_exceeded"}}`,
		"Prompt length (9000) exceeds the maximum (8192)", "Input length 9000 exceeds maximum allowed token size 8192", "Sequence length 9000 exceeds maximum 8192", "input exceeds maximum length",
		"number of input tokens exceeds the model's limit of 32768", "The total number of tokens in the input and output exceeds the model limit 8192", "Too many input tokens. Max input tokens: 8192",
		"This model supports at most 8192 input tokens", "request too long: max_input_tokens", "the context window of 8192 was exceeded", "Conversation too long for the context", "The conversation is too long",
		"The prompt (total length 25938) is too long to fit into the model (context length 4096).",
	}
	for _, text := range said {
		if !isOverflow(400, "", text) || isOverflow(429, "", text) {
			t.Errorf("HTTP 400 is an overflow %v, HTTP 429 is one %v: %s", isOverflow(400, "", text), isOverflow(429, "", text), text)
		}
	}
	all := strings.ToLower(strings.Join(said, "\n"))
	for _, s := range append(overflowCodes(), overflowTexts()...) {
		if !matches(all, []pattern{s}) || s.source == "" || s.words != strings.ToLower(s.words) {
			t.Errorf("%q has no case here, no source, or capitals", s.words)
		}
	}
	if !isOverflow(413, "", "") || isOverflow(0, "", "") || isOverflow(500, "", "") {
		t.Error("without words, the status 413 alone means an overflow")
	}
}

// Errors that only look like an overflow: limits of rate and cost, and parameters of the answer alone.
func TestNoOverflow(t *testing.T) {
	for _, said := range []string{
		"Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 150974, Requested 53621. Please try again in 1.378s.",
		"Request too large for model `llama-3.3-70b-versatile` in organization `org_x` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 34954, please reduce your message size and try again.",
		"Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 34954. The input or output tokens must be reduced in order to run successfully.",
		"This request would exceed the rate limit for your organization of 40,000 input tokens per minute. Please reduce the length of the prompt.",
		"You exceeded your current quota, please check your plan and billing details.",
		"ThrottlingException: Too many tokens, please wait before trying again.",
		"max_tokens is too large: 24576. This model supports at most 16384 completion tokens, whereas you provided 24576.",
		"max_tokens must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
		"max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022",
		"max_tokens exceeds the limit of 8192",
		"`max_new_tokens` must be <= 512",
		"Range of max_tokens should be [1, 8192]",
		"Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
		"You have reached your daily token limit", "Monthly token limit exceeded for this API key", "Token limit of your subscription is used up", "RateLimitReached: the token limit is exceeded", "token limit exceeded: the access token has expired",
		"Budget exceeded: token limit of the team", "max output token limit is 8192", "Too many tokens, please wait before trying again.", "TPM limit exceeded: token limit 40000",
		"metadata length exceeds maximum allowed", "string too long. Expected a string with maximum length 64",
		"Incorrect API key provided", "no such model", "",
	} {
		if isOverflow(400, "", said) || isOverflow(413, "", said) && strings.Contains(said, "TPM") {
			t.Errorf("taken for an overflow: %s", said)
		}
	}
}
