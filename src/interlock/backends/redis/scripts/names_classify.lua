-- names_classify: tell what can be seen of some names, for others to judge what they are.
--
-- KEYS[*]  names  for each name six keys: the name itself, the marker of its kind, the leased
--                 permits, the permits, the fair queue and the fencing counter that it would have
--
-- returns {1, shape, ...}  for each name a list: what kind of key it is, the only field of a hash
--                          or the text of a string, its expiry, the marker, and one digit for
--                          each of the other four: 1 when it is there
--
-- Safe to repeat: it changes nothing.

local names = KEYS
local call = redis.call

local answer = {1}
for i = 1, #names, 6 do
  local name, marker = names[i], names[i + 1]
  local kind, text = call('TYPE', name).ok, ''
  if kind == 'hash' then
    if call('HEXISTS', name, 'mode') == 1 then
      text = 'mode'
    elseif call('HLEN', name) == 1 then
      text = call('HKEYS', name)[1]
    end
  elseif kind == 'string' and call('STRLEN', name) <= 200 then
    text = call('GET', name)
  end
  local others = ''
  for j = 2, 5 do others = others .. call('EXISTS', names[i + j]) end
  local mark = redis.pcall('GET', marker)
  if type(mark) ~= 'string' then mark = '' end
  answer[#answer + 1] = {kind, text, call('PTTL', name), mark, others}
end
return answer
