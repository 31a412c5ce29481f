// Status codes and classes of them, as rules name them.
import { z } from 'zod'

export const statusPattern = z.union([z.int().min(200).max(599), z.enum(['2xx', '3xx', '4xx', '5xx'])])
