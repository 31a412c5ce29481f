// The whole table: every kind of business facts.
import { a2aMessageSend } from './a2a-message-send.ts'
import { anthropicMessages } from './anthropic-messages.ts'
import { bankTransfer } from './bank-transfer.ts'
import { bedrockConverse } from './bedrock-converse.ts'
import { buttonClick } from './button-click.ts'
import { doorOpening } from './door-opening.ts'
import { graphqlMutation } from './graphql-mutation.ts'
import { invitationByMail } from './invitation.ts'
import type { Kind } from './kind.ts'
import { langgraphRuns } from './langgraph-runs.ts'
import { mcpToolsCall } from './mcp-tools-call.ts'
import { meetingBooking } from './meeting-booking.ts'
import { openaiChat } from './openai-chat.ts'
import { openaiResponses } from './openai-responses.ts'
import { orderCancel } from './order-cancel.ts'
import { paperSection } from './paper-section.ts'
import { payment } from './payment.ts'
import { photoUpload } from './photo-upload.ts'
import { shopOrder } from './shop-order.ts'
import { tokenPayment } from './token-payment.ts'
import { webhookDelivery } from './webhook-delivery.ts'

export const KINDS: readonly Kind[] = [
  openaiChat,
  openaiResponses,
  anthropicMessages,
  bedrockConverse,
  mcpToolsCall,
  a2aMessageSend,
  langgraphRuns,
  payment,
  buttonClick,
  paperSection,
  meetingBooking,
  orderCancel,
  shopOrder,
  bankTransfer,
  invitationByMail,
  photoUpload,
  doorOpening,
  graphqlMutation,
  tokenPayment,
  webhookDelivery,
]
